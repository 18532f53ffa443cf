// SPDX-License-Identifier: MIT
// A LibTorch loop of a user's own that loses a rank.
#include <gtest/gtest.h>

#include <set>

#include "support/launch.h"

namespace tacit::test {
namespace {

class OwnLoop : public Launch {
 protected:
  // Four ranks, of which rank 2 is killed. It has no end of its own, so that none has finished before: the end is for all
  // together where the strategy can go on without one, and where it cannot the others have none either.
  void start_and_kill(const std::string& strategy, const std::string& steps, int code) {
    ranks_do("echo $$ >pid.$TACIT_RANK\nsteps=" + steps +
             "; [ $TACIT_RANK = 2 ] && steps=100000000\nexec '" TACIT_OWN_LOOP "' " + strategy + " $steps");
    Running launch(folder(), {"-n", "4", "--grace", "50", "--", "./rank"});
    ASSERT_TRUE(eventually([&] { return slurp(path("trains.2")) == "yes\n"; })) << err();
    kill(pid_in("pid.2"), SIGKILL);
    EXPECT_EQ(launch.wait(), code) << err();
  }
};

TEST_F(OwnLoop, GoesOnWithoutALostRankWhereItsStrategyCan) {
  for (const char* strategy : {"gossip", "wagma"}) {
    start_and_kill(strategy, "200", 0);
    std::set<std::string> weights;
    const Strings lines = sorted_lines(out());
    EXPECT_EQ(lines.size(), 3U) << out() << err();
    for (const std::string& line : lines) weights.insert(line.substr(line.find(']')));
    EXPECT_EQ(weights.size(), 1U) << out();
    EXPECT_NE(err().find("rank 2 was killed by signal 9 (Killed); the others go on without it"),
              std::string::npos)
        << err();
    fs::remove(path("trains.2"));
    fs::remove(path("pid.2"));
  }
}

TEST_F(OwnLoop, NamesTheLostRankInOneLineWhereItsStrategyNeedsAll) {
  start_and_kill("ssgd", "100000000", 3);
  EXPECT_EQ(out(), "");
  Strings lines = sorted_lines(err());
  std::erase_if(lines,
                [](const std::string& line) { return line.find("own_loop: rank ") == std::string::npos; });
  ASSERT_EQ(lines.size(), 3U) << err();
  for (const char* rank : {"0", "1", "3"})
    EXPECT_NE(err().find(std::string("[") + rank + "] own_loop: rank " + rank + " lost rank 2: "),
              std::string::npos)
        << err();
}

TEST_F(OwnLoop, SaysInOneLineThatItsStrategyIsNotKnown) {
  const Result r = run("'" TACIT_OWN_LOOP "' gosip 5 --workers 2");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err.find("own_loop: unknown strategy 'gosip'; did you mean 'gossip'?"), 0U) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

}  // namespace
}  // namespace tacit::test
