// SPDX-License-Identifier: MIT
#include "adapters/torch/flat_module.h"

#include <torch/types.h>

#include <algorithm>
#include <sstream>

#include "core/hash.h"
#include "tacit/core/error.h"
#include "tacit/core/space.h"

namespace tacit::torch {
namespace {

using ::torch::Tensor;

FloatView view_of(const Tensor& t) {
  return std::span(t.data_ptr<float>(), static_cast<std::size_t>(t.numel()));
}

std::string text(at::IntArrayRef sizes) {
  std::ostringstream out;
  out << sizes;
  return out.str();
}

[[noreturn]] void refuse(const std::string& name, const Tensor& t) {
  throw InvalidConfig("tensor '" + name + "' is " + std::string(t.dtype().name()) + " on " +
                      t.device().str() + (t.is_contiguous() ? "" : ", not contiguous") +
                      "; Tacit trains contiguous 32-bit floats on the CPU: convert the module with "
                      ".to(torch::kFloat32)");
}

bool is_float32(const Tensor& t) { return t.scalar_type() == ::torch::kFloat32 && t.device().is_cpu(); }

// Floats of 32 bits, or integers where the tensor is not trained.
void check(const std::string& name, const Tensor& t, bool trained) {
  const bool fits = is_float32(t) || (!trained && !t.is_floating_point() && t.device().is_cpu());
  if (!fits || !t.is_contiguous()) refuse(name, t);
}

constexpr const char* kMakeAnew =
    " after Replicated was made; finish() that one and make another for the module as it is now";

[[noreturn]] void refuse_change(const std::string& name, const std::string& what) {
  throw InvalidConfig("parameter '" + name + "' " + what + kMakeAnew);
}

}  // namespace

FlatModule::FlatModule(::torch::nn::Module& module) : module_(module) {
  std::size_t total = 0;
  for (const auto& entry : module.named_parameters()) {
    const Tensor& t = entry.value();
    const auto same = [&](const Named& other) { return other.tensor.is_same(t); };
    // A parameter that two layers share is trained once.
    const bool shared = std::any_of(all_parameters_.begin(), all_parameters_.end(), same);
    all_parameters_.push_back({entry.key(), t});
    if (shared) continue;
    check(entry.key(), t, t.requires_grad());
    (t.requires_grad() ? trained_ : frozen_).push_back({entry.key(), t});
    if (!t.requires_grad()) {
      // An optimiser moves what has a gradient, by its momentum even where that is zero; frozen is frozen.
      frozen_.back().tensor.mutable_grad().reset();
      continue;
    }
    slices_.push_back({total, static_cast<std::size_t>(t.numel())});
    rows_.push_back(t.dim() > 0 ? static_cast<std::size_t>(t.size(0)) : 1);
    total += slices_.back().count;
  }
  if (total == 0)
    throw InvalidConfig("the module has no parameter to train; register one with register_parameter");
  flat_params_ = zeros(total);
  flat_gradient_ = zeros(total);
  const ::torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    Tensor& t = trained_[i].tensor;
    values_.push_back(piece(flat_params_, slices_[i], t.sizes()));
    values_[i].copy_(t);
    t.set_data(values_[i]);
    gradients_.push_back(piece(flat_gradient_, slices_[i], t.sizes()));
    t.mutable_grad() = gradients_[i];
  }
  params_view_ = view_of(flat_params_);
  gradient_view_ = view_of(flat_gradient_);
  for (const auto& entry : module.named_buffers()) {
    check(entry.key(), entry.value(), false);
    buffers_.push_back({entry.key(), entry.value()});
    float_buffer_.push_back(entry.value().is_floating_point());
  }
}

Tensor FlatModule::zeros(std::size_t floats) {
  HostMemory memory = host_memory(floats * sizeof(float));
  std::byte* const at = memory.get();
  Tensor flat = ::torch::from_blob(
      at, {static_cast<std::int64_t>(floats)},
      [](void* own) { FreeHostMemory()(static_cast<std::byte*>(own)); }, ::torch::kFloat32);
  memory.release();
  return flat.zero_();
}

// Tensors over the flat memory, not views of the flat tensor: Optimizer::zero_grad refuses gradients that are views. Each
// keeps the memory alive.
Tensor FlatModule::piece(const Tensor& flat, Slice where, at::IntArrayRef sizes) {
  return ::torch::from_blob(
      flat.data_ptr<float>() + where.offset, sizes, [flat](void*) {}, ::torch::kFloat32);
}

std::vector<TensorShape> FlatModule::shapes() const {
  std::vector<TensorShape> all;
  const auto add = [&](const Named& each) { all.push_back({each.name, each.tensor.sizes().vec()}); };
  std::for_each(trained_.begin(), trained_.end(), add);
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (float_buffer_[i]) add(buffers_[i]);
  for (const Named& each : frozen_)
    if (is_float32(each.tensor)) add(each);
  return all;
}

std::vector<FloatView> FlatModule::floats() {
  std::vector<FloatView> all;
  for (const Slice& each : slices_) all.push_back(part(params_view_, each));
  for (const FloatView each : buffers()) all.push_back(each);
  for (const Named& each : frozen_)
    if (is_float32(each.tensor)) all.push_back(view_of(each.tensor));
  return all;
}

std::span<const FloatView> FlatModule::buffers() {
  buffer_views_.clear();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Tensor& t = buffers_[i].tensor;
    if (!float_buffer_[i]) continue;
    const bool fits = is_float32(t) && t.is_contiguous();
    buffer_views_.push_back(fits ? view_of(t) : FloatView{});
  }
  return buffer_views_;
}

std::span<const Bytes> FlatModule::fixed() {
  fixed_views_.clear();
  for (const auto* some : {&frozen_, &buffers_})
    for (const auto& [name, t] : *some)
      fixed_views_.emplace_back(static_cast<std::byte*>(t.data_ptr()), t.nbytes());
  return fixed_views_;
}

std::vector<Tensor> FlatModule::integers() const {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (!float_buffer_[i]) all.push_back(buffers_[i].tensor.detach());
  return all;
}

std::uint64_t FlatModule::hash() const {
  std::uint64_t hash = hash_bytes(bytes_of(ConstFloatView(params_view_)));
  for (const auto& [name, t] : frozen_) {
    const Tensor values = t.contiguous();
    hash = hash_bytes({static_cast<const std::byte*>(values.data_ptr()), values.nbytes()}, hash);
  }
  return hash;
}

// Against the module's own list: a layer that was exchanged has tensors that nobody here knows.
void FlatModule::check_parameters() const {
  const auto now = module_.named_parameters();
  const auto same = [](const auto& entry, const Named& then) { return entry.value().is_same(then.tensor); };
  if (std::equal(now.begin(), now.end(), all_parameters_.begin(), all_parameters_.end(), same)) return;
  for (const auto& [name, tensor] : all_parameters_)
    if (now.find(name) == nullptr) refuse_change(name, "is gone from the module");
  for (const auto& entry : now) {
    const auto named = [&](const Named& then) { return then.name == entry.key(); };
    const auto then = std::find_if(all_parameters_.begin(), all_parameters_.end(), named);
    if (then == all_parameters_.end()) refuse_change(entry.key(), "came to the module");
    if (!then->tensor.is_same(entry.value())) refuse_change(entry.key(), "was replaced by another tensor");
  }
  throw InvalidConfig(std::string("the module lists its parameters in another order") + kMakeAnew);
}

bool FlatModule::bring_back() {
  check_parameters();
  for (const auto& [name, t] : frozen_)
    if (t.requires_grad()) refuse_change(name, "was unfrozen (requires_grad)");
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (float_buffer_[i]) check(buffers_[i].name, buffers_[i].tensor, true);
  bool moved = false;
  const ::torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    auto& [name, t] = trained_[i];
    if (!t.requires_grad()) refuse_change(name, "was frozen (requires_grad is false)");
    if (t.data_ptr() == values_[i].data_ptr() && t.sizes() == values_[i].sizes()) continue;
    if (!is_float32(t)) refuse(name, t);
    if (t.sizes() != values_[i].sizes())
      refuse_change(name, "has the shape " + text(t.sizes()) + " where it had " + text(values_[i].sizes()));
    values_[i].copy_(t);
    t.set_data(values_[i]);
    moved = true;
  }
  return moved;
}

Tensor FlatModule::gradient_of(std::size_t tensor) const {
  const Tensor& now = trained_[tensor].tensor.grad();
  return (now.is_sparse() ? now.to_dense() : now).detach().contiguous();
}

void FlatModule::clear_gradients() {
  flat_gradient_.zero_();
  for (std::size_t i = 0; i < trained_.size(); ++i) trained_[i].tensor.mutable_grad() = gradients_[i];
}

void FlatModule::collect_gradients() {
  const ::torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Tensor& now = trained_[i].tensor.grad();
    if (now.defined() && !now.is_sparse() && now.data_ptr() == gradients_[i].data_ptr()) continue;
    if (now.defined()) {
      gradients_[i].copy_(now.is_sparse() ? now.to_dense() : now);
    } else {
      gradients_[i].zero_();  // the parameter took no part in this step
    }
    trained_[i].tensor.mutable_grad() = gradients_[i];
  }
}

}  // namespace tacit::torch
