// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>

#include "tacit/core/views.h"

namespace tacit {

// x <- 0
inline void clear(FloatView x) {
  if (!x.empty()) std::memset(bytes_of(x).data(), 0, x.size_bytes());
}

}  // namespace tacit
