// SPDX-License-Identifier: MIT
// How a program ends; docs/errors.md is the table.
#pragma once

#include <exception>
#include <string>

namespace tacit {

struct ExitCode {
  static constexpr int kDone = 0;
  static constexpr int kFailed = 1;
  static constexpr int kBadInput = 2;  // the user must change something
  static constexpr int kPeerLost = 3;
  static constexpr int kInterrupted = 130;  // as a shell has it of a program that SIGINT killed
};

// What a program that an error ends says, in one line, and returns.
struct LastWords {
  std::string line;
  int code;
};
LastWords last_words(const std::exception_ptr& error);

}  // namespace tacit
