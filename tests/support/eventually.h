// SPDX-License-Identifier: MIT
// Waiting for what other threads and processes do.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace tacit::test {

// False where it does not come true in minutes, so that a test ends.
inline bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(4);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace tacit::test
