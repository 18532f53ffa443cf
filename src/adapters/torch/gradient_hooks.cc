// SPDX-License-Identifier: MIT
#include "adapters/torch/gradient_hooks.h"

#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace tacit::torch {

namespace autograd = ::torch::autograd;

GradientHooks::GradientHooks(const FlatModule& flat, const Added& added) {
  for (std::size_t i = 0; i < flat.tensors().size(); ++i) {
    auto node = autograd::impl::grad_accumulator(flat.parameter(i));
    const auto key = node->add_post_hook(std::make_unique<autograd::utils::LambdaPostHook>(
        [added, i](const autograd::variable_list& outputs, const autograd::variable_list&) {
          added(i);
          return outputs;
        }));
    hooks_.push_back({std::move(node), key});
  }
}

GradientHooks::~GradientHooks() {
  for (const Hook& each : hooks_) each.node->del_post_hook(each.key);
}

}  // namespace tacit::torch
