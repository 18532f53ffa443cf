// SPDX-License-Identifier: MIT
#include "train/models/models.h"

#include <string>

namespace tacit {

std::vector<TensorShape> Model::shapes() {
  std::vector<TensorShape> all;
  for (const Slice& each : tensors())
    all.push_back({"tensor." + std::to_string(all.size()), {static_cast<std::int64_t>(each.count)}});
  for (const FloatView each : buffers())
    all.push_back({"tensor." + std::to_string(all.size()), {static_cast<std::int64_t>(each.size())}});
  return all;
}

const ModelRegistry& builtin_models() {
  static const ModelRegistry registry("model", {logistic_info(), mlp_info(), quadratic_info()});
  return registry;
}

}  // namespace tacit
