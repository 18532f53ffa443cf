// SPDX-License-Identifier: MIT
#include "adapters/torch/torch_worker.h"

#include <algorithm>

#include "adapters/torch/flat_optimizer.h"
#include "tacit/core/error.h"

namespace tacit::torch {

void TorchWorker::apply(ConstFloatView g) {
  if (!gradient().is(g)) copy(g, gradient());
  const TimeAccount::Computation computing(parts_.times);
  if (!put_off_) apply_gradient();
}

void TorchWorker::apply_gradient() {
  if (parts_.before_apply) parts_.before_apply();
  parts_.inner();
}

std::unique_ptr<Optimizer> TorchWorker::new_optimizer() const {
  if (parts_.before_apply)
    throw InvalidConfig(
        "before_apply cannot run with " + parts_.strategy +
        ", which applies gradients on its servers and not here; leave it out, or use a strategy "
        "without servers");
  return flat_optimizer(parts_.optimizer);
}

std::vector<double> TorchWorker::rates() const {
  std::vector<double> all;
  for (const auto& group : parts_.optimizer.param_groups()) all.push_back(group.options().get_lr());
  return all;
}

void TorchWorker::set_rates(const std::vector<double>& rates) {
  auto& groups = parts_.optimizer.param_groups();
  for (std::size_t i = 0; i < std::min(rates.size(), groups.size()); ++i)
    groups[i].options().set_lr(rates[i]);
}

}  // namespace tacit::torch
