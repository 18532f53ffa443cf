// SPDX-License-Identifier: MIT
#pragma once

namespace tacit::cli {

// While one lives, the first Ctrl-C and the first SIGTERM are remembered instead of ending the program; a second one of
// the same kind kills as usual.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Threads  any.
  static bool asked();
};

}  // namespace tacit::cli
