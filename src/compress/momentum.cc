// SPDX-License-Identifier: MIT
#include "compress/momentum.h"

#include <cmath>

#include "core/pack_kernels.h"
#include "tacit/core/kernels.h"

namespace tacit {

Momentum::Momentum(Form form, float mu, FloatView like)
    : form_(form), mu_(mu), now_(mu == 0 ? FloatView() : like), next_(now_.view()) {}

bool Momentum::take(ConstFloatView g, Slice at, FloatView out) {
  if (mu_ == 0) return std::isfinite(kernels::add_scaled(g, 0, g, out));
  const FloatView m = part(next_.view(), at);
  const float largest = kernels::add_scaled(g, mu_, part(now_.view(), at), m);
  if (form_ == Form::kNesterov) return std::isfinite(kernels::add_scaled(g, mu_, m, out));
  copy(m, out);
  return std::isfinite(largest);
}

}  // namespace tacit
