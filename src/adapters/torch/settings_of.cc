// SPDX-License-Identifier: MIT
#include "adapters/torch/settings_of.h"

#include <string>

#include "adapters/torch/optimizer_name.h"
#include "tacit/core/text.h"

namespace tacit::torch {
namespace {

// "float of 64 x 784", "float of 1 number"
std::string shape(const ::torch::Tensor& tensor) {
  std::string text;
  for (const std::int64_t length : tensor.sizes())
    text += (text.empty() ? "" : " x ") + std::to_string(length);
  if (text.empty()) text = "1 number";
  return std::string(tensor.dtype().name()) + " of " + text + (tensor.requires_grad() ? "" : ", not trained");
}

// Of every group of parameters.
std::string learning_rates(const ::torch::optim::Optimizer& optimizer) {
  std::string text;
  for (const auto& group : optimizer.param_groups())
    text += (text.empty() ? "" : ", ") + exact(group.options().get_lr());
  return text;
}

}  // namespace

std::vector<Setting> settings_of(const ::torch::nn::Module& module,
                                 const ::torch::optim::Optimizer& optimizer, std::string_view strategy,
                                 const Replicated::Options& options) {
  std::size_t parameters = 0;
  std::vector<Setting> tensors;
  for (const auto& each : module.named_parameters()) {
    parameters += static_cast<std::size_t>(each.value().numel());
    tensors.push_back({"the parameter " + each.key(), shape(each.value())});
  }
  for (const auto& each : module.named_buffers())
    tensors.push_back({"the buffer " + each.key(), shape(each.value())});
  std::vector<Setting> settings{{"the strategy", std::string(strategy)},
                                {"Options::compress", options.compress},
                                {"Options::bucket", options.bucket},
                                {"Options::seed", std::to_string(options.seed)},
                                {"Options::uneven", options.uneven ? "true" : "false"},
                                {"the optimizer", name_of(optimizer)},
                                {"its learning rate", learning_rates(optimizer)},
                                {"the number of parameters", std::to_string(parameters)}};
  settings.insert(settings.end(), tensors.begin(), tensors.end());
  return settings;
}

}  // namespace tacit::torch
