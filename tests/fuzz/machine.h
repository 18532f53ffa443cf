// SPDX-License-Identifier: MIT
// The machine that a fuzzed rank runs on, in place of ours.
#pragma once

namespace tacit::fuzz {

// While one lives, memory of more than a few pages cannot be had (std::bad_alloc): no announced length makes the
// fuzzer's machine suffer, and the want of memory is tried. One at a time.
class SmallMachine {
 public:
  SmallMachine();
  ~SmallMachine();
  SmallMachine(const SmallMachine&) = delete;
  SmallMachine& operator=(const SmallMachine&) = delete;
};

}  // namespace tacit::fuzz
