// SPDX-License-Identifier: MIT
// Who wants to know when autograd has added to a parameter's gradient.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "adapters/torch/flat_module.h"

namespace tacit::torch {

// Calls back once per backward pass for each trained parameter that took part in it, however often it was used: autograd
// adds up its uses before.
//
// Lifetime  flat must outlive it, and no backward pass may be running at its end.
// Threads   called back on the thread that runs backward(), or on one of autograd's own.
class GradientHooks {
 public:
  using Added = std::function<void(std::size_t tensor)>;
  GradientHooks(const FlatModule& flat, const Added& added);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  struct Hook {
    std::shared_ptr<::torch::autograd::Node> node;  // autograd itself does not keep it
    std::uintptr_t key;
  };
  std::vector<Hook> hooks_;
};

}  // namespace tacit::torch
