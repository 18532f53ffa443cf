// SPDX-License-Identifier: MIT
// A torch::nn::Module whose parameters and gradients are views of one flat buffer each.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tacit/core/tensor_shape.h"
#include "tacit/core/views.h"

namespace tacit::torch {

// Re-points every trained parameter of the module, and its gradient, into flat memory that this object owns;
// from then on autograd and optimisers work there and nothing is copied on a step.
//
// Others can re-point them again: torch::load and module.to() do. bring_back() notices.
//
// Lifetime  the module must outlive it. Its tensors share the flat memory and keep it alive; the views end with this
//           object.
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
  // All tensors of floats as files name them: trained parameters, float buffers, frozen parameters; and their values, in
  // the same order.
  std::vector<TensorShape> shapes() const;
  std::vector<FloatView> floats();
  // As the module names it.
  const std::string& name(std::size_t tensor) const { return trained_[tensor].name; }
  const ::torch::Tensor& parameter(std::size_t tensor) const { return trained_[tensor].tensor; }
  // Its gradient, wherever that is now, as contiguous floats.
  ::torch::Tensor gradient_of(std::size_t tensor) const;
  // A flat tensor, in memory as the host's vectors have it.
  static ::torch::Tensor zeros(std::size_t floats);
  // Floats of this shape inside a flat tensor, whose memory they share and keep alive.
  static ::torch::Tensor piece(const ::torch::Tensor& flat, Slice where, at::IntArrayRef sizes);
  // Float buffers such as batch-norm statistics, where they are now; integer buffers are not among them. One that no
  // longer fits is empty, and refused by bring_back(). The views hold until the module is changed.
  std::span<const FloatView> buffers();
  // The others, such as a count of batches: tensors over their memory as it is now.
  std::vector<::torch::Tensor> integers() const;
  // What is not trained: frozen parameters and all buffers, as bytes, so that ranks can start alike.
  std::span<const Bytes> fixed();

  // Of all parameters, frozen ones too.
  std::uint64_t hash() const;

  // Takes the values of parameters that were given other memory into the flat one, and points them back there. Returns
  // whether there was one. Throws InvalidConfig that names what cannot be brought back: another type or shape, a
  // parameter that was frozen or unfrozen, one that the module has gained or lost.
  bool bring_back();

  // Brings gradients back into the flat buffer that were taken out of it: zero_grad(set_to_none=true) drops
  // the views, and autograd then allocates new memory. Free where nothing was moved.
  void collect_gradients();
  // As zero_grad(), and brings them back.
  void clear_gradients();

 private:
  struct Named {
    std::string name;
    ::torch::Tensor tensor;
  };
  void check_parameters() const;

  ::torch::nn::Module& module_;
  std::vector<Named> all_parameters_;  // as the module lists them, shared ones once per place
  std::vector<Named> trained_;
  std::vector<Named> frozen_;
  std::vector<Named> buffers_;
  ::torch::Tensor flat_params_;
  ::torch::Tensor flat_gradient_;
  std::vector<::torch::Tensor> values_;     // inside flat_params_, one per trained parameter
  std::vector<::torch::Tensor> gradients_;  // inside flat_gradient_
  std::vector<Slice> slices_;
  std::vector<std::size_t> rows_;
  std::vector<bool>
      float_buffer_;  // per buffer, as it was at the start: module.to() makes floats of integers
  std::vector<FloatView> buffer_views_;
  std::vector<Bytes> fixed_views_;
  FloatView params_view_;
  FloatView gradient_view_;
};

}  // namespace tacit::torch
