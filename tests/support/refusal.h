// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tacit/core/error.h"

namespace tacit::test {

// The message of the error that `call` throws, checked to be one line; a call that is not refused is a failure.
template <class E = InvalidConfig, class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const E& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    return what;
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

// That every part is in the message.
inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
}

template <class E = InvalidConfig, class Call>
void expect_refusal(const Call& call, const std::vector<std::string>& parts) {
  expect_parts(refusal<E>(call), parts);
}

}  // namespace tacit::test
