// SPDX-License-Identifier: MIT
// A torch::nn::Module whose parameters and gradients are views of one flat buffer each.
#pragma once

#include <torch/nn/module.h>

#include <span>
#include <vector>

#include "tacit/core/views.h"

namespace tacit::torch {

// Re-points every trained parameter of the module, and its gradient, into flat memory that this object owns;
// from then on autograd and optimisers work there and nothing is copied on a step.
//
// Lifetime  the module's tensors share the flat memory and keep it alive; the views end with this object.
// Threads   one at a time.
// Errors    InvalidConfig that names a trained parameter or float buffer that is not of 32 bits, or any tensor that is
//           not contiguous on the CPU.
class FlatModule {
 public:
  explicit FlatModule(::torch::nn::Module& module);

  FloatView params() { return params_view_; }
  FloatView gradient() { return gradient_view_; }
  std::span<const Slice> tensors() const { return slices_; }
  // The first dimension of each of them.
  std::span<const std::size_t> rows() const { return rows_; }
  // Float buffers such as batch-norm statistics, where they are; integer buffers are not among them.
  std::span<const FloatView> buffers() const { return buffers_; }
  // What is not trained: frozen parameters and all buffers, as bytes, so that ranks can start alike.
  std::span<const Bytes> fixed() const { return fixed_; }

  // Brings gradients back into the flat buffer that were taken out of it: zero_grad(set_to_none=true) drops
  // the views, and autograd then allocates new memory. Free where nothing was moved.
  void collect_gradients();

 private:
  void keep_fixed(const ::torch::Tensor& t);

  ::torch::Tensor flat_params_;
  ::torch::Tensor flat_gradient_;
  std::vector<::torch::Tensor> parameters_;
  std::vector<::torch::Tensor> gradients_;      // inside flat_gradient_, one per parameter
  std::vector<::torch::Tensor> fixed_tensors_;  // keeps what fixed_ and buffers_ show
  std::vector<Slice> slices_;
  std::vector<std::size_t> rows_;
  std::vector<FloatView> buffers_;
  std::vector<Bytes> fixed_;
  FloatView params_view_;
  FloatView gradient_view_;
};

}  // namespace tacit::torch
