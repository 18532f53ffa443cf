// SPDX-License-Identifier: MIT
#include "means/contribution.h"

#include <string>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {

Contribution::Contribution(const Compression& how, TensorSplit split, FloatView like, Remembers what)
    : how_(how),
      all_(what == Remembers::kAll),
      split_(std::move(split)),
      momentum_(how_.memory == Memory::kMomentum ? Momentum::Form::kHeavyBall : Momentum::Form::kNesterov,
                how_.momentum.value_or(0),
                like.first(split_.small_values() + (moves_large() ? split_.large_values() : 0))),
      memory_(all_ ? Memory::kErrorFeedback : how_.memory, how_.momentum.value_or(0),
              like.first(split_.large_values() + (all_ ? split_.small_values() : 0))),
      small_(like.first(all_ ? 0 : split_.small_values())) {}

void Contribution::take(ConstFloatView x, const When& when) {
  const auto require = [&](bool finite, const TensorSplit::Tensor& tensor) {
    if (finite) return;
    throw Diverged(when.rank, when.t,
                   "tensor " + std::to_string(tensor.index) + " (values " +
                       std::to_string(tensor.from.offset) + " to " +
                       std::to_string(tensor.from.offset + tensor.from.count) +
                       ") has a value that is not finite, which " + how_.name +
                       " cannot compress; lower the learning rate, warm it up, or look at the data");
  };
  for (const auto& tensor : split_.small()) {
    const ConstFloatView given = part(x, tensor.from);
    require(all_ ? memory_.take(given, behind_large(tensor.to), when.rescale)
                 : momentum_.take(given, tensor.to, part(small_.view(), tensor.to)),
            tensor);
  }
  for (const auto& tensor : split_.large())
    require(take_large(part(x, tensor.from), tensor.to, when.rescale), tensor);
}

void Contribution::commit() {
  momentum_.commit();
  memory_.commit();
}

void Contribution::save(StateWriter& state) const {
  momentum_.save(state);
  memory_.save(state);
}

void Contribution::load(StateReader& state) {
  momentum_.load(state);
  memory_.load(state);
}

// The momentum of large tensors lies behind that of small ones, unless the memory has it.
bool Contribution::moves_large() const {
  return how_.momentum.value_or(0) > 0 && how_.memory != Memory::kMomentum;
}
bool Contribution::take_large(ConstFloatView x, Slice at, float rescale) {
  if (!moves_large()) return memory_.take(x, at, rescale);
  const FloatView moved = memory_.room(at);
  return momentum_.take(x, {split_.small_values() + at.offset, at.count}, moved) &&
         memory_.take(moved, at, rescale);
}

}  // namespace tacit
