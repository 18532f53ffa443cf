// SPDX-License-Identifier: MIT
#include "tacit/torch/model_file.h"

#include <torch/types.h>

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/store.h"
#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

using ::torch::Tensor;

struct Named {
  TensorShape shape;
  Tensor tensor;
};

std::vector<Named> tensors_of(const ::torch::nn::Module& module) {
  std::vector<Named> all;
  for (const auto& list : {module.named_parameters(), module.named_buffers()})
    for (const auto& entry : list)
      all.push_back({{entry.key(), entry.value().sizes().vec()}, entry.value().detach()});
  return all;
}

bool is_float(const Tensor& t) { return t.scalar_type() == ::torch::kFloat32; }

template <class T>
std::span<T> span_of(const Tensor& t) {
  return {t.data_ptr<T>(), static_cast<std::size_t>(t.numel())};
}

}  // namespace

void save_model(const ::torch::nn::Module& module, const std::filesystem::path& file) {
  std::vector<Named> named = tensors_of(module);
  std::vector<SavedTensor> saved;
  for (auto& [shape, tensor] : named) {
    if (!is_float(tensor) && tensor.scalar_type() != ::torch::kInt64)
      throw InvalidConfig("tensor '" + shape.name + "' is " + std::string(tensor.dtype().name()) +
                          "; floats of 32 bits and integers of 64 are saved: convert the module with "
                          ".to(torch::kFloat32)");
    tensor = tensor.cpu().contiguous();
    saved.push_back({shape});
    if (is_float(tensor))
      saved.back().floats = span_of<float>(tensor);
    else
      saved.back().integers = span_of<std::int64_t>(tensor);
  }
  write_safetensors(file, saved, {{"format", "pt"}});
}

void load_model(::torch::nn::Module& module, const std::filesystem::path& file) {
  const SafetensorsFile saved(std::filesystem::is_directory(file) ? file / kModelFile : file);
  const ::torch::NoGradGuard no_grad;
  for (const auto& [shape, tensor] : tensors_of(module)) {
    Tensor here = ::torch::empty(tensor.sizes(), tensor.options().device(::torch::kCPU));
    if (is_float(tensor)) {
      saved.read(shape, FloatView(span_of<float>(here)));
    } else if (tensor.scalar_type() == ::torch::kInt64 && saved.has(shape.name)) {
      saved.read(shape, span_of<std::int64_t>(here));
    } else {
      continue;  // a count that the writer did not have
    }
    tensor.copy_(here);
  }
}

}  // namespace tacit::torch
