// SPDX-License-Identifier: MIT
// From the views of a kernel call to the kernels of their space.
#pragma once

#include <string>

#include "core/host_kernels.h"
#include "tacit/core/error.h"

namespace tacit::kernels {

inline void check_together(ConstFloatView y, ConstFloatView x) {
  TACIT_CHECK(x.beside(y) || x.empty(), "a kernel got views of the spaces '" + std::string(y.space().name()) +
                                            "' and '" + std::string(x.space().name()) + "'");
}

// All views lie in the space of the first; an empty one may lie anywhere.
template <class... Views>
const Kernels& kernels_of(ConstFloatView first, const Views&... others) {
  (check_together(first, others), ...);
  if (first.beside(ConstFloatView())) return kHostKernels;
  return first.space().kernels();
}

}  // namespace tacit::kernels
