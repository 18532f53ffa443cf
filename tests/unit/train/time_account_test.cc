// SPDX-License-Identifier: MIT
// Times are compared with others that the test takes around or within them, so that a busy machine changes nothing.
#include "train/time_account.h"

#include <gtest/gtest.h>

#include <array>

namespace tacit::test {
namespace {

constexpr Seconds kMoment{0.002};

Seconds now() { return RealClock().now(); }
void pass_a_moment() { RealClock().sleep(kMoment); }

double waited(Seconds training, const TimeSpent& spent) {
  return training.count() - spent.compute - spent.communicate;
}

TEST(TimeAccount, WhatIsOutsideAStrategysCallIsComputing) {
  World::threads(1).run([](Process& me) {
    const TimeAccount account(me);
    const TimeSpent spent = account.spent(Seconds(3));
    EXPECT_EQ(spent.compute, 3);
    EXPECT_EQ(spent.communicate, 0);
  });
}

TEST(TimeAccount, ACallIsExchangeButForTheOptimiserInIt) {
  World::threads(1).run([](Process& me) {
    TimeAccount account(me);
    const Seconds start = now();
    {
      const TimeAccount::Exchange exchange(account);
      pass_a_moment();
      const TimeAccount::Computation computation(account);
      pass_a_moment();
    }
    const Seconds training = now() - start;
    const TimeSpent spent = account.spent(training);
    EXPECT_GE(spent.communicate, kMoment.count());
    EXPECT_GE(spent.compute, kMoment.count());
    EXPECT_NEAR(waited(training, spent), 0, 1e-9) << "a world of one rank has nobody to wait for";
  });
}

TEST(TimeAccount, WhoeverComesFirstWaitsForTheOther) {
  World::threads(2).run([](Process& me) {
    TimeAccount account(me);
    const Seconds start = now();
    std::array<float, 1> x{1};
    if (me.rank() == 1) pass_a_moment();
    // Until the other was seen to wait: a single time it might not have.
    for (bool seen = false; !seen;) {
      const TimeAccount::Exchange exchange(account);
      if (me.rank() == 1) pass_a_moment();
      me.comm().sum(x);
      x[0] = me.rank() == 0 && account.away().waited + me.waited() > Seconds(0) ? 1.0F : 0.0F;
      me.comm().sum(x);
      seen = x[0] > 0;
    }
    const Seconds training = now() - start;
    const TimeSpent spent = account.spent(training);
    EXPECT_GE(spent.compute, 0);
    EXPECT_GE(spent.communicate, 0);
    EXPECT_GE(waited(training, spent), me.rank() == 0 ? 1e-12 : -1e-9);
  });
}

TEST(TimeAccount, WhatAGradientHidAfterAllIsTakenBack) {
  World::threads(1).run([](Process& me) {
    TimeAccount account(me);
    {
      const TimeAccount::Exchange exchange(account);
      pass_a_moment();
    }
    account.take_back(account.away());
    const TimeSpent spent = account.spent(Seconds(1));
    EXPECT_EQ(spent.compute, 1);
    EXPECT_EQ(spent.communicate, 0);
  });
}

TEST(TimeAccount, NoPartIsLargerThanTheWhole) {
  World::threads(1).run([](Process& me) {
    TimeAccount account(me);
    {
      const TimeAccount::Exchange exchange(account);
      pass_a_moment();
    }
    const TimeSpent spent = account.spent(kMoment / 2);
    EXPECT_EQ(spent.compute, 0);
    EXPECT_EQ(spent.communicate, (kMoment / 2).count());
  });
}

}  // namespace
}  // namespace tacit::test
