// SPDX-License-Identifier: MIT
#include "tacit/torch/flat_module.h"

#include <torch/types.h>

#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

FloatView view_of(const ::torch::Tensor& t) {
  return {t.data_ptr<float>(), static_cast<std::size_t>(t.numel())};
}

[[noreturn]] void refuse(const std::string& name, const ::torch::Tensor& t) {
  throw InvalidConfig("tensor '" + name + "' is " + std::string(t.dtype().name()) + " on " +
                      t.device().str() + (t.is_contiguous() ? "" : ", not contiguous") +
                      "; Tacit trains contiguous 32-bit floats on the CPU: convert the module with "
                      ".to(torch::kFloat32)");
}

// Floats of 32 bits, or integers where the tensor is not trained.
void check(const std::string& name, const ::torch::Tensor& t, bool trained) {
  const bool fits = t.scalar_type() == ::torch::kFloat32 || (!trained && !t.is_floating_point());
  if (!fits || !t.device().is_cpu() || !t.is_contiguous()) refuse(name, t);
}

}  // namespace

FlatModule::FlatModule(::torch::nn::Module& module) {
  std::size_t total = 0;
  for (const auto& entry : module.named_parameters()) {
    const bool trained = entry.value().requires_grad();
    check(entry.key(), entry.value(), trained);
    if (!trained) {
      keep_fixed(entry.value());
      continue;
    }
    parameters_.push_back(entry.value());
    slices_.push_back({total, static_cast<std::size_t>(entry.value().numel())});
    rows_.push_back(entry.value().dim() > 0 ? static_cast<std::size_t>(entry.value().size(0)) : 1);
    total += slices_.back().count;
  }
  if (total == 0)
    throw InvalidConfig("the module has no parameter to train; register one with register_parameter");
  flat_params_ = ::torch::empty({static_cast<std::int64_t>(total)}, ::torch::kFloat32);
  flat_gradient_ = ::torch::zeros({static_cast<std::int64_t>(total)}, ::torch::kFloat32);
  const ::torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    // Tensors over the flat memory, not views of the flat tensor: Optimizer::zero_grad refuses gradients that are
    // views. Each keeps the memory alive.
    const auto piece = [&](const ::torch::Tensor& flat) {
      return ::torch::from_blob(
          flat.data_ptr<float>() + slices_[i].offset, parameters_[i].sizes(), [flat](void*) {},
          ::torch::kFloat32);
    };
    piece(flat_params_).copy_(parameters_[i]);
    parameters_[i].set_data(piece(flat_params_));
    gradients_.push_back(piece(flat_gradient_));
    parameters_[i].mutable_grad() = gradients_[i];
  }
  params_view_ = view_of(flat_params_);
  gradient_view_ = view_of(flat_gradient_);
  for (const auto& entry : module.named_buffers()) {
    check(entry.key(), entry.value(), false);
    keep_fixed(entry.value());
    if (entry.value().is_floating_point()) buffers_.push_back(view_of(entry.value()));
  }
}

void FlatModule::keep_fixed(const ::torch::Tensor& t) {
  fixed_tensors_.push_back(t);
  fixed_.emplace_back(static_cast<std::byte*>(t.data_ptr()), t.nbytes());
}

void FlatModule::collect_gradients() {
  const ::torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ::torch::Tensor& now = parameters_[i].grad();
    if (now.defined() && now.data_ptr() == gradients_[i].data_ptr()) continue;
    if (now.defined()) {
      gradients_[i].copy_(now);
    } else {
      gradients_[i].zero_();  // the parameter took no part in this step
    }
    parameters_[i].mutable_grad() = gradients_[i];
  }
}

}  // namespace tacit::torch
