// SPDX-License-Identifier: MIT
// What a strategy tries to do with a vector, as tests/refusals.cmake says.
#include <span>
#include <vector>

#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"

void strategy(tacit::FloatView x) { static_cast<void>(TRIED); }
