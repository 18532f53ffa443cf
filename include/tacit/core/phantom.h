// SPDX-License-Identifier: MIT
// Memory that stands for data which is not there: addresses and lengths without content, for runs that want to know
// what an algorithm costs and not what it computes. Kernels do nothing where one of their views lies in it, and the
// simulator carries it without looking.
#pragma once

#include <cstddef>

#include "tacit/core/views.h"

namespace tacit {

// One at a time; made before any thread that could meet it and dropped after.
class Phantom {
 public:
  // Costs addresses and no memory. Throws InvalidConfig if the system has fewer.
  explicit Phantom(std::size_t floats);
  ~Phantom();
  Phantom(const Phantom&) = delete;
  Phantom& operator=(const Phantom&) = delete;

  FloatView view() { return view_; }

  static bool holds(const void* at) { return at >= first_ && at < last_; }

 private:
  // Every kernel call compares its views with it. Shared by all threads and set before any of them starts.
  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables, readability-identifier-naming)
  static inline const void* first_ = nullptr;
  static inline const void* last_ = nullptr;
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables, readability-identifier-naming)
  FloatView view_;
};

}  // namespace tacit
