// SPDX-License-Identifier: MIT
#include "core/exit_code.h"

#include <gtest/gtest.h>

#include <new>

#include "core/thrown.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

template <class E>
LastWords words_of(const E& error) {
  return last_words(std::make_exception_ptr(error));
}

TEST(ExitCode, SaysWhoCanMendIt) {
  EXPECT_EQ(words_of(InvalidConfig("x")).code, 2);
  EXPECT_EQ(words_of(PeerLost(0, 1, "x")).code, 3);
  EXPECT_EQ(words_of(Interrupted("x")).code, 130);
  EXPECT_EQ(words_of(Diverged("x")).code, 1);
  EXPECT_EQ(words_of(Bug("x")).code, 1);
  EXPECT_EQ(words_of(std::bad_alloc()).code, 1);
  EXPECT_EQ(words_of(7).code, 1);
}

TEST(LastWords, OfOthersErrorsAreOneLineThatATerminalCanShow) {
  EXPECT_EQ(words_of(std::runtime_error("a\n\n  b\r\n\tc\x1b[2J\n")).line, "a b c\\x1b[2J");
  EXPECT_EQ(words_of(std::runtime_error("a\nException raised from f at g.cpp:1:\nframe #0: h")).line, "a");
  EXPECT_EQ(words_of(std::runtime_error("")).line, "an error without a message");
}

TEST(LastWords, OfTacitsErrorsAreAsTheyWereWritten) {
  EXPECT_EQ(words_of(InvalidConfig("line 3:\n  a = = 1\n      ^")).line, "line 3:\n  a = = 1\n      ^");
  EXPECT_EQ(words_of(Interrupted("rank 0: the run was interrupted")).line, "interrupted");
}

TEST(Describe, SaysSomethingOfAnythingThatWasThrown) {
  EXPECT_EQ(describe(std::make_exception_ptr(42)), "an error of unknown type");
}

}  // namespace
}  // namespace tacit
