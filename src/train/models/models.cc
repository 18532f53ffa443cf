// SPDX-License-Identifier: MIT
#include "train/models/models.h"

namespace tacit {

const ModelRegistry& builtin_models() {
  static const ModelRegistry registry("model", {logistic_info(), mlp_info(), quadratic_info()});
  return registry;
}

}  // namespace tacit
