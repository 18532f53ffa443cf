// SPDX-License-Identifier: MIT
// How a user's program that tacit::main runs ends: alone with ranks as threads, and under tacit launch.
#include <gtest/gtest.h>

#include "support/launch.h"

namespace tacit::test {
namespace {

class OwnProgram : public Launch {
 protected:
  Result alone(const std::string& words) { return run("'" TACIT_OWN_PROGRAM "' " + words); }
  Result launched(const std::string& words) {
    return tacit("launch -n 3 --grace 50 -- '" TACIT_OWN_PROGRAM "' " + words);
  }
  Strings launch_of(const std::string& what) {
    return {"-n", "3", "--grace", "50", "--", TACIT_OWN_PROGRAM, what};
  }
  void expect_here(const Strings& files) {
    for (const std::string& file : files)
      ASSERT_TRUE(eventually([&] { return slurp(path(file)) == "yes\n"; })) << file << "\n" << err();
  }
  void go() { std::ofstream(path("go")) << "yes\n"; }
  // Those with these words, without those of the launcher.
  Strings lines_with(const std::string& words) {
    Strings lines = sorted_lines(err());
    std::erase_if(lines, [&](const std::string& line) { return line.find(words) == std::string::npos; });
    return lines;
  }
};

TEST_F(OwnProgram, EndsWithZeroAndSeesItsOwnArgumentsAlone) {
  const Result r = alone("succeed --workers 4 --mine 3");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "4 ranks, 3 arguments\n");
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(launched("succeed").out, "[0] 3 ranks, 1 arguments\n");
}

TEST_F(OwnProgram, SaysInOneLineWhatItsUserMustChange) {
  const Result r = alone("throw-config --workers 3");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "own_program: there is no file data.bin; name another\n");
  EXPECT_EQ(launched("throw-config").code, 2);
  EXPECT_EQ(lines_with("data.bin").size(), 3U) << err();  // every process its own line
}

TEST_F(OwnProgram, RefusesAWorldThatCannotBe) {
  for (const char* workers : {"0", "4.5", "1025", "10000"}) {
    const Result r = alone(std::string("succeed --workers ") + workers);
    EXPECT_EQ(r.code, 2) << r.err;
    EXPECT_EQ(r.err.find("own_program: "), 0U) << r.err;
    EXPECT_NE(r.err.find(workers), std::string::npos) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

TEST_F(OwnProgram, SaysAnyOtherErrorInOneLineAndEndsWithOne) {
  const Result lines = alone("throw-lines");
  EXPECT_EQ(lines.code, 1);
  EXPECT_EQ(lines.err, "own_program: shapes cannot be multiplied (3x4 and 5x6)\n");
  const Result number = alone("throw-number");
  EXPECT_EQ(number.code, 1);
  EXPECT_EQ(number.err, "own_program: an error of unknown type\n");
}

TEST_F(OwnProgram, SaysTheCauseOnceWhereRanksAreThreads) {
  const Result r = alone("fail-on-one --workers 3");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "own_program: rank 1 has no data\n");
}

TEST_F(OwnProgram, TellsTheOtherProcessesWhyARankFailed) {
  EXPECT_EQ(launched("fail-on-one").code, 1);
  const Strings lines = lines_with("rank 1 has no data");
  ASSERT_EQ(lines.size(), 3U) << err();
  EXPECT_EQ(lines[0].find("[0] own_program: rank 0 lost rank 1: "), 0U) << lines[0];
  EXPECT_EQ(lines[1], "[1] own_program: rank 1 has no data");
  EXPECT_EQ(lines[2].find("[2] own_program: rank 2 lost rank 1: "), 0U) << lines[2];
}

TEST_F(OwnProgram, NamesARankThatDiedAndEndsWithThree) {
  EXPECT_EQ(launched("die-on-one").code, 3);
  const Strings lines = lines_with(" lost rank 1: ");
  ASSERT_EQ(lines.size(), 2U) << err();
  EXPECT_EQ(lines[0].find("[0] own_program: rank 0 lost rank 1: "), 0U) << lines[0];
  EXPECT_EQ(lines[1].find("[2] own_program: rank 2 lost rank 1: "), 0U) << lines[1];
}

class InterruptedProgram : public OwnProgram, public ::testing::WithParamInterface<int> {};

TEST_P(InterruptedProgram, EndsInAWait) {
  Started program(folder(), {TACIT_OWN_PROGRAM, "wait", "--workers", "3"});
  expect_here({"here.0", "here.1", "here.2"});
  program.signal(GetParam());
  go();
  EXPECT_EQ(program.wait(), 130);
  EXPECT_EQ(err(), "own_program: interrupted\n");
}

TEST_P(InterruptedProgram, EndsInItsNextStepEvenAlone) {
  Started program(folder(), {TACIT_OWN_PROGRAM, "step"});
  expect_here({"here.0"});
  program.signal(GetParam());
  EXPECT_EQ(program.wait(), 130);
  EXPECT_EQ(err(), "own_program: interrupted\n");
}

TEST_P(InterruptedProgram, ThatComputesSaysHowItEndsAndEndsSo) {
  Started program(folder(), {TACIT_OWN_PROGRAM, "compute", "--workers", "2"});
  expect_here({"here.0", "here.1"});
  program.signal(GetParam());
  ASSERT_TRUE(err_says("own_program: interrupted; it ends with the next exchange or step")) << err();
  program.signal(GetParam());
  EXPECT_EQ(program.wait(), 128 + GetParam());
}

TEST_P(InterruptedProgram, EndsInAWaitUnderALauncher) {
  Running launch(folder(), launch_of("wait"));
  expect_here({"here.0", "here.1", "here.2"});
  launch.signal(GetParam());
  EXPECT_TRUE(err_says("[1] own_program: interrupted\n")) << err();  // rank 0 does not wait yet
  EXPECT_TRUE(err_says("[2] own_program: interrupted\n")) << err();
  go();
  EXPECT_EQ(launch.wait(), 128 + GetParam());
  EXPECT_TRUE(err_says("[0] own_program: interrupted\n")) << err();
  EXPECT_EQ(err().find(" lost rank "), std::string::npos) << err();
}

TEST_P(InterruptedProgram, ThatComputesEndsWithTheSecondSignalToItsLauncher) {
  Running launch(folder(), launch_of("compute"));
  expect_here({"here.0", "here.1", "here.2"});
  launch.signal(GetParam());
  ASSERT_TRUE(err_says("[0] own_program: interrupted; it ends with the next exchange or step")) << err();
  launch.signal(GetParam());
  EXPECT_EQ(launch.wait(), 128 + GetParam());
  EXPECT_EQ(lines_with("interrupted; it ends").size(), 1U) << err();
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptedProgram, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& each) { return each.param == SIGINT ? "Int" : "Term"; });

}  // namespace
}  // namespace tacit::test
