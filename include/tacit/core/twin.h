// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tacit/core/phantom.h"
#include "tacit/core/views.h"

namespace tacit {

// Memory for a vector like another one: as long, and without content where that one is a phantom, so that a run that costs
// nothing but time needs no memory for it either.
//
// Lifetime  a phantom must outlive it.
class Twin {
 public:
  explicit Twin(FloatView of) {
    if (Phantom::holds(of.data())) {
      view_ = of;
      return;
    }
    own_.resize(of.size());
    view_ = own_;
  }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  FloatView view() { return view_; }
  ConstFloatView view() const { return view_; }
  void assign(ConstFloatView x) {
    if (!own_.empty()) copy(x, view_);
  }
  void copy_to(FloatView x) const {
    if (!own_.empty()) copy(view_, x);
  }

 private:
  std::vector<float> own_;
  FloatView view_;
};

}  // namespace tacit
