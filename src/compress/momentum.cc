// SPDX-License-Identifier: MIT
#include "tacit/compress/momentum.h"

#include <cmath>

#include "tacit/core/kernels.h"
#include "tacit/core/pack_kernels.h"

namespace tacit {

Momentum::Momentum(Form form, float mu, std::size_t n)
    : form_(form), mu_(mu), now_(mu == 0 ? 0 : n), next_(now_.size()) {}

bool Momentum::take(ConstFloatView g, Slice at, FloatView out) {
  if (mu_ == 0) return std::isfinite(kernels::add_scaled(g, 0, g, out));
  const FloatView m = part(FloatView(next_), at);
  const float largest = kernels::add_scaled(g, mu_, part(ConstFloatView(now_), at), m);
  if (form_ == Form::kNesterov) return std::isfinite(kernels::add_scaled(g, mu_, m, out));
  copy(m, out);
  return std::isfinite(largest);
}

}  // namespace tacit
