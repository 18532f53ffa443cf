// SPDX-License-Identifier: MIT
// Questions about an error that was caught and kept.
#pragma once

#include <exception>

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

}  // namespace tacit
