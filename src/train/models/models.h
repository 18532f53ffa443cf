// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/train/model.h"

namespace tacit {

ModelInfo logistic_info();
ModelInfo mlp_info();
ModelInfo quadratic_info();

}  // namespace tacit
