// SPDX-License-Identifier: MIT
// tacit launch --restart on one machine.
#include <gtest/gtest.h>

#include "support/launch.h"

namespace tacit::test {
namespace {

// Ranks that take each other in until the file `done` is there. Each start has files of its own, numbered as
// TACIT_RETURN says: pid1.0 is that of rank 1's first one.
class Restart : public Launch {
 protected:
  // `again` is what a rank does first when it is started again.
  void ranks_take_in_and(const std::string& again, const std::string& first = "") {
    ranks_do("n=${TACIT_RETURN-0}\n[ $n != 0 ] && {\n:\n" + again + "\n}\n[ $n = 0 ] && {\n:\n" + first +
             "\n}\n" + takes_in() + others_go_on() +
             "echo $$ >pid$TACIT_RANK.$n\nuntil [ -e done ]; do sleep 0.05; done");
  }
  static Strings args(const std::string& restart, const Strings& more = {}) {
    Strings all{"-n", "3", "--grace", "600", "--restart", restart};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--", "./rank"});
    return all;
  }
  void all_are_there() { pids_in({"pid0.0", "pid1.0", "pid2.0"}); }
  void lose(const std::string& start) { kill_in("pid" + start); }
  int finish(Running& job) {
    write("done", "");
    return job.wait();
  }
  bool says(const std::string& words) { return err().find(words) != std::string::npos; }
};

TEST_F(Restart, ALostRankIsStartedAgainWithTheMembersOfThatMomentAndIsBack) {
  ranks_take_in_and(
      "echo $TACIT_RETURN $TACIT_MEMBERS $TACIT_RANK/$TACIT_SIZE/$TACIT_LOCAL_SIZE $TACIT_JOB\n"
      "cat /proc/self/fd/$TACIT_KEY_FD >key.again; echo $TACIT_RENDEZVOUS >place.again",
      "cat /proc/self/fd/$TACIT_KEY_FD >key.$TACIT_RANK; echo $TACIT_RENDEZVOUS >place.$TACIT_RANK");
  Running job(folder(), args("20", {"--job", "j"}));
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("rank 2 is back"));
  lose("1.0");
  EXPECT_TRUE(err_says("rank 1 is back"));
  EXPECT_EQ(finish(job), 0);
  EXPECT_EQ(out(),
            "[2] 1 0@127.0.0.1:1000,1@127.0.0.1:1001 2/3/3 j\n"
            "[1] 2 0@127.0.0.1:1000,2@127.0.0.1:1002 1/3/3 j\n");
  EXPECT_EQ(
      err(),
      "tacit launch: rank 2 was killed by signal 9 (Killed); the others go on without it, and it is started "
      "again (1 of 20)\n"
      "tacit launch: rank 2 is back\n"
      "tacit launch: rank 1 was killed by signal 9 (Killed); the others go on without it, and it is started "
      "again (2 of 20)\n"
      "tacit launch: rank 1 is back\n");
  EXPECT_EQ(slurp(path("key.again")), slurp(path("key.1")));
  EXPECT_EQ(slurp(path("place.again")), slurp(path("place.1")));
}

TEST_F(Restart, RankZeroComesBackWithoutTheSocketAndWithoutInput) {
  write("in", "typed\n");
  const std::string show =
      "read x; echo $n got:$x listens:${TACIT_LISTEN_FD-no}; [ -e /proc/$$/fd/4 ] && echo $n has 4";
  ranks_take_in_and(show, "[ $TACIT_RANK = 0 ] && {\n" + show + "\n}");
  Running job(folder(), args("1"), "in");
  all_are_there();
  lose("0.0");
  EXPECT_TRUE(err_says("rank 0 is back"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_EQ(out(), "[0] 0 got:typed listens:4\n[0] 0 has 4\n[0] 1 got: listens:no\n");
}

TEST_F(Restart, ACutOffRankIsStartedAgainToo) {
  ranks_take_in_and(
      "", "[ $TACIT_RANK = 1 ] && {\n" + others_go_on() + "until [ -e cut ]; do sleep 0.05; done; exit 3\n}");
  Running job(folder(), args("1"));
  pids_in({"pid0.0", "pid2.0"});
  write("cut", "");
  EXPECT_TRUE(
      err_says("rank 1 exited with 3; the others go on without it, and it is started again (1 of 1)"));
  EXPECT_TRUE(err_says("rank 1 is back"));
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(Restart, RanksComeBackOneAtATime) {
  ranks_take_in_and(
      "echo $TACIT_MEMBERS\necho $$ >begun$TACIT_RANK; until [ -e go$TACIT_RANK ]; do sleep 0.05; done");
  Running job(folder(), args("5"));
  all_are_there();
  lose("1.0");
  pid_in("begun1");
  lose("2.0");
  EXPECT_TRUE(
      err_says("rank 2 was killed by signal 9 (Killed); the others go on without it, and it is to be started "
               "again\n"));
  EXPECT_FALSE(fs::exists(path("begun2")));
  write("go1", "");
  EXPECT_TRUE(err_says("rank 1 is back\ntacit launch: rank 2 is started again (2 of 5)\n")) << err();
  write("go2", "");
  EXPECT_TRUE(err_says("rank 2 is back"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_EQ(out(), "[1] 0@127.0.0.1:1000,2@127.0.0.1:1002\n[2] 0@127.0.0.1:1000,1@127.0.0.1:1001\n");
}

TEST_F(Restart, WhenRestartsAreUsedUpTheOthersGoOnWithoutTheRank) {
  ranks_take_in_and("");
  Running job(folder(), args("1"));
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("rank 2 is back"));
  lose("2.1");
  EXPECT_TRUE(err_says(
      "rank 2 was killed by signal 9 (Killed); the others go on without it (--restart 1 is used up)\n"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_TRUE(says("tacit launch: ranks 0, 1 exited with 0; rank 2 was killed by signal 9 (Killed)\n"))
      << err();
}

TEST_F(Restart, NobodyIsStartedAgainOnceARankHasEndedWell) {
  ranks_take_in_and("", "[ $TACIT_RANK = 0 ] && {\n" + takes_in() + others_go_on() +
                            "echo $$ >pid0.0; until [ -e enough ]; do sleep 0.05; done; exit 0\n}");
  Running job(folder(), args("5"));
  all_are_there();
  write("enough", "");
  const fs::path process = "/proc/" + std::to_string(pid_in("pid0.0"));
  EXPECT_TRUE(eventually([&] { return !fs::exists(process); }));  // the launcher has reaped it
  lose("1.0");
  EXPECT_TRUE(err_says(
      "rank 1 was killed by signal 9 (Killed); the others go on without it; it is not started again, "
      "because the run is at its end\n"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_FALSE(fs::exists(path("pid1.1")));
}

TEST_F(Restart, ARankThatWaitsIsNotStartedOnceAnotherHasEndedWell) {
  ranks_take_in_and("exit 3", "[ $TACIT_RANK = 0 ] && {\n" + takes_in() + others_go_on() +
                                  "echo $$ >pid0.0; until [ -e enough ]; do sleep 0.05; done; exit 0\n}");
  Running job(folder(), args("20"));
  all_are_there();
  lose("1.0");
  EXPECT_TRUE(err_says("rank 1 exited with 3; it was not back yet, and is started again after 1 s"));
  write("enough", "");
  EXPECT_TRUE(err_says("is not started again, because the run is at its end\n"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_TRUE(says("tacit launch: ranks 0, 2 exited with 0; rank 1 exited with 3\n")) << err();
}

TEST_F(Restart, NobodyIsStartedAgainAfterASignalThatEndsTheJob) {
  ranks_take_in_and("", "trap '' INT");
  Running job(folder(), args("5"));
  all_are_there();
  job.signal(SIGINT);
  EXPECT_TRUE(err_says("SIGINT goes to the ranks"));
  lose("1.0");
  EXPECT_TRUE(err_says("rank 1 was killed by signal 9 (Killed); the others go on without it\n"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_FALSE(fs::exists(path("pid1.1")));
}

TEST_F(Restart, NobodyIsStartedAgainWhereRanksTakeNobodyIn) {
  ranks_do(others_go_on() + "echo $$ >pid$TACIT_RANK.0; until [ -e done ]; do sleep 0.05; done");
  Running job(folder(), args("5"));
  all_are_there();
  lose("1.0");
  EXPECT_TRUE(err_says(
      "rank 1 was killed by signal 9 (Killed); the others go on without it; it is not started again, "
      "because the ranks take nobody in\n"));
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(Restart, ALossBeforeTheOthersHaveSaidAnythingWaitsForTheirWord) {
  ranks_take_in_and("", "[ $TACIT_RANK = 1 ] || until [ -e speak ]; do sleep 0.05; done");
  Running job(folder(), args("5"));
  lose("1.0");
  EXPECT_TRUE(
      err_says("rank 1 was killed by signal 9 (Killed); the others go on without it, and it is to be started "
               "again\n"));
  write("speak", "");
  EXPECT_TRUE(err_says("rank 1 is started again (1 of 5)\n"));
  EXPECT_TRUE(err_says("rank 1 is back"));
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(Restart, WithoutTheOptionNobodyIsStartedAgain) {
  ranks_take_in_and("");
  Running job(folder(), {"-n", "3", "--", "./rank"});
  all_are_there();
  lose("1.0");
  EXPECT_TRUE(err_says("rank 1 was killed by signal 9 (Killed); the others go on without it\n"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_FALSE(fs::exists(path("pid1.1")));
}

TEST_F(Restart, ReturnsThatFailHarmNobodyAndStopWhenRestartsAreUsedUp) {
  ranks_take_in_and("[ $n = 1 ] && kill -9 $$\nexit 3");
  Running job(folder(), args("2"));
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("--restart 2 is used up\n"));
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_EQ(
      err(),
      "tacit launch: rank 2 was killed by signal 9 (Killed); the others go on without it, and it is started "
      "again (1 of 2)\n"
      "tacit launch: rank 2 was killed by signal 9 (Killed); it was not back yet, and is started again after "
      "1 "
      "s\n"
      "tacit launch: rank 2 is started again (2 of 2)\n"
      "tacit launch: rank 2 exited with 3; it was not back yet, and --restart 2 is used up\n"
      "tacit launch: ranks 0, 1 exited with 0; rank 2 exited with 3\n");
}

TEST_F(Restart, AReturnThatEndsWithACodeOfItsOwnIsNotRepeatedAndTheJobsCodeIsZero) {
  for (const char* code : {"2", "0"}) {
    for (const char* name : {"done", "pid0.0", "pid1.0", "pid2.0"}) fs::remove(path(name));
    ranks_take_in_and("[ $TACIT_RANK = 2 ] && exit " + std::string(code));
    Running job(folder(), args("5"));
    all_are_there();
    lose("2.0");
    EXPECT_TRUE(err_says("rank 2 exited with " + std::string(code) +
                         "; it was not back yet, and is not started again, because that was no loss\n"));
    lose("1.0");  // one that ended with 0 and took no part has not finished the run
    EXPECT_TRUE(err_says("rank 1 is back"));
    EXPECT_EQ(finish(job), 0) << err();
  }
}

TEST_F(Restart, AProgramThatCannotBeStartedForATimeIsAReturnThatFails) {
  ranks_take_in_and("");
  Running job(folder(), args("20"));
  all_are_there();
  fs::rename(path("rank"), path("elsewhere"));
  lose("2.0");
  EXPECT_TRUE(err_says("rank 2 was not started: cannot start './rank': No such file"));
  EXPECT_TRUE(err_says("; it was not back yet, and is started again after 1 s"));
  fs::rename(path("elsewhere"), path("rank"));
  EXPECT_TRUE(err_says("rank 2 is back"));
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(Restart, ARankThatIsBackAndFailsEndsTheJobAsAnyOther) {
  ranks_take_in_and("trap 'exit 7' USR1");
  Running job(folder(), {"-n", "3", "--grace", "0", "--restart", "5", "--", "./rank"});
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("rank 2 is back"));
  kill(pid_in("pid2.1"), SIGUSR1);
  EXPECT_EQ(job.wait(), 7) << err();
  EXPECT_TRUE(says("tacit launch: rank 2 exited with 7\n")) << err();
}

TEST_F(Restart, SignalsReachTheProcessThatWasStartedAgain) {
  ranks_take_in_and("");
  Running job(folder(), args("5"));
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("rank 2 is back"));
  const auto pids = pids_in({"pid0.0", "pid1.0", "pid2.1"});
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << err();
  EXPECT_TRUE(says("ranks 0-2 were killed by signal 2 (Interrupt)")) << err();
  for (const pid_t pid : pids) EXPECT_FALSE(lives(pid));
}

TEST_F(Restart, AnInterruptCountsAndNotALossThatTheOthersWentOnWithout) {
  ranks_take_in_and("");
  Running job(folder(), args("0"));
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("the others go on without it"));
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << err();
}

TEST_F(Restart, AProcessThatWasStartedAgainDoesNotOutliveALauncherThatIsKilled) {
  ranks_take_in_and("sleep 1000 & echo $! >grand");
  Running job(folder(), args("5"));
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("rank 2 is back"));
  const auto pids = pids_in({"pid0.0", "pid1.0", "pid2.1", "grand"});
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return !lives(pid); })) << pid;
}

TEST_F(Restart, AReturnThatHangsWhileTheOthersFinishIsEnded) {
  ranks_take_in_and("echo $$ >begun; exec sleep 1000");
  Running job(folder(), {"-n", "3", "--grace", "0.2", "--restart", "5", "--", "./rank"});
  all_are_there();
  lose("2.0");
  const pid_t again = pid_in("begun");
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_FALSE(lives(again));
  EXPECT_TRUE(says("rank 2 still runs, without which others have finished; it has 0.2 s to end by itself\n"))
      << err();
  EXPECT_TRUE(says("ranks 0, 1 exited with 0; rank 2 was killed by signal 15 (Terminated)\n")) << err();
}

TEST_F(Restart, ARankThatIsGivenUpIsEndedThoughItWasStartedAgain) {
  ranks_take_in_and("", "[ $TACIT_RANK = 0 ] && {\n" + takes_in() + others_go_on() +
                            "echo $$ >pid0.0; until [ -e enough ]; do sleep 0.05; done\n" + note("2", 2) +
                            "exit 0\n}");
  Running job(folder(), {"-n", "3", "--grace", "0", "--restart", "5", "--", "./rank"});
  all_are_there();
  lose("2.0");
  EXPECT_TRUE(err_says("rank 2 is back"));
  const pid_t again = pid_in("pid2.1");
  write("enough", "");
  EXPECT_TRUE(err_says("rank 2 still runs and is ended"));
  EXPECT_TRUE(eventually([&] { return !lives(again); }));
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(Restart, HelpNamesTheOption) {
  EXPECT_NE(tacit("launch --help").out.find("--restart"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
