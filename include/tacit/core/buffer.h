// SPDX-License-Identifier: MIT
// A vector that an algorithm keeps beside the parameters.
#pragma once

#include <utility>
#include <vector>

#include "tacit/core/phantom.h"
#include "tacit/core/views.h"

namespace tacit {

// As long as the vector it was matched with. Beside a phantom it is that phantom, so that a run without content needs
// no memory for its buffers either.
class Buffer {
 public:
  Buffer() = default;
  // Becomes as long as x; the content is unspecified.
  explicit Buffer(FloatView x) { match(x); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Holds x from now on.
  void assign(FloatView x) {
    match(x);
    take(x);
  }
  void take(ConstFloatView x) {
    if (!Phantom::holds(view_.data())) copy(x, view_);
  }
  void give(FloatView out) const {
    if (!Phantom::holds(view_.data())) copy(view_, out);
  }
  friend void swap(Buffer& a, Buffer& b) noexcept {
    a.own_.swap(b.own_);
    std::swap(a.view_, b.view_);
  }
  FloatView view() { return view_; }
  ConstFloatView view() const { return view_; }

 private:
  void match(FloatView x) {
    const bool absent = Phantom::holds(x.data());
    own_.resize(absent ? 0 : x.size());
    view_ = absent ? x : FloatView(own_);
  }

  std::vector<float> own_;
  FloatView view_;
};

}  // namespace tacit
