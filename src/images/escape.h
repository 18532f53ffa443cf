// SPDX-License-Identifier: MIT
// How an error comes out of a C library that must not return from its error handler.
#pragma once

#include <algorithm>
#include <array>
#include <csetjmp>
#include <string>
#include <string_view>

#include "images/picture.h"

namespace tacit {

// Threads  one at a time.
class Escape {
 public:
  // Calls what may leave(), and throws BadImage if it does. Nothing that `step` makes may have a destructor: it is left
  // by a jump.
  template <class Step>
  void guard(const Step& step) {
    if (setjmp(point_) != 0) throw BadImage("it is spoilt: " + std::string(text_.data()));
    step();
  }
  // For handlers of errors, below guard(): does not return. Makes nothing that has a destructor either.
  [[noreturn]] void leave(const char* why) {
    const std::string_view all(why);
    text_.fill('\0');
    std::copy_n(all.begin(), std::min(all.size(), text_.size() - 1), text_.begin());
    std::longjmp(point_, 1);
  }

 private:
  std::jmp_buf point_{};
  std::array<char, 256> text_{};
};

}  // namespace tacit
