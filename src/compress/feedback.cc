// SPDX-License-Identifier: MIT
#include "compress/feedback.h"

#include <cmath>

#include "core/pack_kernels.h"
#include "tacit/core/kernels.h"

namespace tacit {

Feedback::Feedback(Memory kind, float momentum, FloatView like)
    : kind_(kind),
      momentum_(momentum),
      pending_(like),
      residual_(kind == Memory::kNone ? FloatView() : like),
      velocity_(kind == Memory::kMomentum ? like : FloatView()),
      next_velocity_(velocity_.view()),
      decoded_(velocity_.view()) {}

bool Feedback::take(ConstFloatView x, Slice at, float rescale) {
  const FloatView out = part(pending_.view(), at);
  switch (kind_) {
    case Memory::kNone:
      return std::isfinite(kernels::add_scaled(x, 0, x, out));
    case Memory::kErrorFeedback:
      return std::isfinite(kernels::add_scaled(x, rescale, part(residual(), at), out));
    case Memory::kMomentum: {
      const FloatView u = part(next_velocity_.view(), at);
      kernels::add_scaled(x, momentum_, part(velocity_.view(), at), u);
      return std::isfinite(kernels::add_scaled(u, rescale, part(residual(), at), out));
    }
  }
  throw Bug("a memory of no kind");
}

void Feedback::sent(Slice at, const Compressor& by, ConstBytes payload) {
  if (kind_ == Memory::kNone) return;
  const FloatView left = part(pending_.view(), at);
  if (kind_ == Memory::kErrorFeedback) return by.decode_add(payload, -1, left);
  const FloatView decoded = part(decoded_.view(), at);
  kernels::fill(0, decoded);
  by.decode_add(payload, 1, decoded);
  kernels::subtract(decoded, left);
  kernels::clear_where(decoded, part(next_velocity_.view(), at));
}

void Feedback::sent(Slice at, const LinearSketch& by) {
  if (kind_ == Memory::kNone) return;
  by.settle(part(pending_.view(), at));
  if (kind_ == Memory::kMomentum) by.settle(part(next_velocity_.view(), at));
}

void Feedback::commit() {
  if (kind_ == Memory::kNone) return;
  swap(residual_, pending_);
  swap(velocity_, next_velocity_);
}

void Feedback::save(StateWriter& state) const {
  state.write("feedback.residual", residual_.view());
  state.write("feedback.velocity", velocity_.view());
}

void Feedback::load(StateReader& state) {
  state.read("feedback.residual", residual_.view());
  state.read("feedback.velocity", velocity_.view());
}

}  // namespace tacit
