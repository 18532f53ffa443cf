// SPDX-License-Identifier: MIT
#include "transport/gate.h"

#include <gtest/gtest.h>

namespace tacit::test {
namespace {

TEST(Gate, LooksAsOftenAsItsPatienceSaysAndOnceMore) {
  Gate gate;
  int looks = 0;
  const auto never = [&] {
    ++looks;
    return false;
  };
  EXPECT_FALSE(gate.look(never, {4, 3}));
  EXPECT_EQ(looks, 4 + 3 + 1);
  EXPECT_FALSE(gate.wait_until(never, {}, {}));
  EXPECT_FALSE(gate.look(never, {0, 1000}, RealClock().now()));
  EXPECT_LT(looks, 1000);  // a deadline that has passed ends it
}

TEST(Gate, ReturnsAtTheLookThatSeesTheEnd) {
  Gate gate;
  int looks = 0;
  EXPECT_TRUE(gate.look([&] { return ++looks == 5; }, {2, 100}));
  EXPECT_EQ(looks, 5);
}

}  // namespace
}  // namespace tacit::test
