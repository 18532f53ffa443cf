// SPDX-License-Identifier: MIT
// A process that may have less of something, for a while.
#pragma once

#include <sys/resource.h>

namespace tacit::test {

class LowLimit {
 public:
  LowLimit(int what, rlim_t most) : what_(what) {
    ::getrlimit(what_, &before_);
    const rlimit low{most, before_.rlim_max};
    ::setrlimit(what_, &low);
  }
  ~LowLimit() { ::setrlimit(what_, &before_); }
  LowLimit(const LowLimit&) = delete;
  LowLimit& operator=(const LowLimit&) = delete;

 private:
  const int what_;
  rlimit before_{};
};

}  // namespace tacit::test
