// SPDX-License-Identifier: MIT
// A vector that an algorithm keeps beside the parameters.
#pragma once

#include "tacit/core/space.h"
#include "tacit/core/views.h"

namespace tacit {

// As long as the vector it was matched with, and in its space.
class Buffer {
 public:
  Buffer() = default;
  // Becomes as long as x, with zeros in it.
  explicit Buffer(ConstFloatView x) { match(x); }

  // Holds x from now on.
  void assign(ConstFloatView x) {
    match(x);
    take(x);
  }
  void take(ConstFloatView x) { copy(x, own_.view()); }
  void give(FloatView out) const { copy(own_.view(), out); }
  // For work that is over before the next call: so many floats in the space of x, the content unspecified. It keeps the
  // memory of the most that were asked for: allocating it each time would cost a small all-reduce a tenth of its time.
  FloatView room(std::size_t floats, ConstFloatView x) {
    if (own_.view().size() < floats || !own_.view().beside(x)) own_ = x.space().allocate(floats);
    return own_.view().first(floats);
  }
  friend void swap(Buffer& a, Buffer& b) noexcept { std::swap(a.own_, b.own_); }
  FloatView view() { return own_.view(); }
  ConstFloatView view() const { return own_.view(); }

 private:
  void match(ConstFloatView x) {
    if (own_.view().size() == x.size() && own_.view().beside(x)) return;
    own_ = x.space().allocate(x.size());
  }

  Block own_;
};

}  // namespace tacit
