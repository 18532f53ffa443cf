// SPDX-License-Identifier: MIT
// Questions about an error that was caught and kept.
#pragma once

#include <exception>
#include <string>

namespace tacit {

// Whether the error is of this type.
template <class E>
bool is(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const E&) {
    return true;
  } catch (...) {
    return false;
  }
}

// The message of an error of any type. One that is not Tacit's is brought into one line, without the frames of the stack
// that LibTorch adds to its own.
std::string describe(const std::exception_ptr& error);

}  // namespace tacit
