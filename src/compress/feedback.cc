// SPDX-License-Identifier: MIT
#include "tacit/compress/feedback.h"

#include <algorithm>
#include <cmath>

#include "tacit/core/kernels.h"
#include "tacit/core/pack_kernels.h"

namespace tacit {

Feedback::Feedback(Memory kind, float momentum, std::size_t n)
    : kind_(kind), momentum_(momentum), pending_(n), residual_(kind == Memory::kNone ? 0 : n) {
  if (kind != Memory::kMomentum) return;
  velocity_.resize(n);
  next_velocity_.resize(n);
  decoded_.resize(n);
}

bool Feedback::take(ConstFloatView x, Slice at, float rescale) {
  const FloatView out = part(FloatView(pending_), at);
  switch (kind_) {
    case Memory::kNone:
      return std::isfinite(kernels::add_scaled(x, 0, x, out));
    case Memory::kErrorFeedback:
      return std::isfinite(kernels::add_scaled(x, rescale, part(ConstFloatView(residual_), at), out));
    case Memory::kMomentum: {
      const FloatView u = part(FloatView(next_velocity_), at);
      kernels::add_scaled(x, momentum_, part(ConstFloatView(velocity_), at), u);
      return std::isfinite(kernels::add_scaled(u, rescale, part(ConstFloatView(residual_), at), out));
    }
  }
  throw Bug("a memory of no kind");
}

void Feedback::sent(Slice at, const Compressor& by, ConstBytes payload) {
  if (kind_ == Memory::kNone) return;
  const FloatView left = part(FloatView(pending_), at);
  if (kind_ == Memory::kErrorFeedback) return by.decode_add(payload, -1, left);
  const FloatView decoded = part(FloatView(decoded_), at);
  kernels::fill(0, decoded);
  by.decode_add(payload, 1, decoded);
  kernels::subtract(decoded, left);
  kernels::clear_where(decoded, part(FloatView(next_velocity_), at));
}

void Feedback::sent(Slice at, const LinearSketch& by) {
  if (kind_ == Memory::kNone) return;
  by.settle(part(FloatView(pending_), at));
  if (kind_ == Memory::kMomentum) by.settle(part(FloatView(next_velocity_), at));
}

void Feedback::commit() {
  if (kind_ == Memory::kNone) return;
  residual_.swap(pending_);
  velocity_.swap(next_velocity_);
}

void Feedback::save(StateWriter& state) const {
  state.write("feedback.residual", ConstFloatView(residual_));
  state.write("feedback.velocity", ConstFloatView(velocity_));
}

void Feedback::load(StateReader& state) {
  state.read("feedback.residual", FloatView(residual_));
  state.read("feedback.velocity", FloatView(velocity_));
}

}  // namespace tacit
