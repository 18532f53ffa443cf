// SPDX-License-Identifier: MIT
// tacit launch --restart on other machines, with a script in the place of ssh that runs everything here.
#include <gtest/gtest.h>

#include "support/launch.h"

namespace tacit::test {
namespace {

// Ranks that take each other in until the file `done` is there; pid1.0 is that of rank 1's first start.
class RestartHosts : public Launch {
 protected:
  void SetUp() override {
    write("fake_ssh",
          "#!/bin/sh\n"
          "echo $1 >>connections\n"
          "host=$1; shift\n"
          "[ -e down ] && { echo 'no route' >&2; exit 255; }\n"
          "[ -e deaf ] && { echo $$ >waiting; exec sleep 1000; }\n"
          "echo $$ >ssh_$host\n"
          "exec sh -c \"exec $*\"\n");
    write("hosts", "alpha slots=2\nann@beta slots=2\n");
    ranks_do(
        "n=${TACIT_RETURN-0}\necho $n ${TACIT_MEMBERS-first} ${TACIT_LISTEN_FD-none}\n"
        "echo $TACIT_RENDEZVOUS >place$TACIT_RANK.$n\n" +
        takes_in() + others_go_on() + "echo $$ >pid$TACIT_RANK.$n\nuntil [ -e done ]; do sleep 0.05; done");
  }
  static Strings args(const Strings& more = {}) {
    Strings all{"--hosts", "hosts", "--ssh", "./fake_ssh", "--restart", "20"};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--", "./rank"});
    return all;
  }
  // A node passes on what ranks note with a delay, but all of it before the end of a rank: one of each host goes and
  // comes back, with the first two restarts.
  void all_are_known() {
    pids_in({"pid0.0", "pid1.0", "pid2.0", "pid3.0"});
    kill_in("pid1.0");
    ASSERT_TRUE(err_says("rank 1 on host alpha is back\n")) << err();
    kill_in("pid3.0");
    ASSERT_TRUE(err_says("rank 3 on host ann@beta is back\n")) << err();
    pids_in({"pid1.1", "pid3.2"});
  }
  bool shows(const std::string& line) {
    return eventually([&] { return out().find(line + "\n") != std::string::npos; });
  }
  int finish(Running& job) {
    write("done", "");
    return job.wait();
  }
};

TEST_F(RestartHosts, ALostRankIsStartedAgainByTheNodeOfItsHost) {
  Running job(folder(), args());
  all_are_known();
  kill_in("pid2.0");
  EXPECT_TRUE(
      err_says("rank 2 on host ann@beta was killed by signal 9 (Killed); the others go on without it"));
  EXPECT_TRUE(err_says("is started again (3 of 20)\n"));
  EXPECT_TRUE(err_says("rank 2 on host ann@beta is back\n"));
  EXPECT_TRUE(shows("[2] 3 0@alpha:1000,1@alpha:1001,3@beta:1003 none")) << out();
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_EQ(sorted_lines(slurp(path("connections"))), (Strings{"alpha", "ann@beta"}));
  EXPECT_EQ(slurp(path("place2.3")), slurp(path("place2.0")));
}

TEST_F(RestartHosts, ANodeStaysThoughItsLastRankHasEnded) {
  write("hosts", "127.0.0.1 slots=2\nann@::1\n");
  Running job(folder(), args());
  pids_in({"pid0.0", "pid1.0", "pid2.0"});
  kill_in("pid2.0");
  EXPECT_TRUE(err_says("rank 2 on host ann@::1 is back\n"));
  kill_in("pid1.0");
  EXPECT_TRUE(err_says("rank 1 on host 127.0.0.1 is back\n"));
  EXPECT_TRUE(shows("[1] 2 0@127.0.0.1:1000,2@[::1]:1002 none")) << out();
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_EQ(sorted_lines(slurp(path("connections"))).size(), 2U);
}

TEST_F(RestartHosts, AHostThatIsLostCountsAsItsRanks) {
  Running job(folder(), args());
  all_are_known();
  kill_in("ssh_ann@beta");
  EXPECT_TRUE(err_says("rank 2 was lost: the connection to host ann@beta ended"));
  EXPECT_TRUE(err_says("rank 2 on host ann@beta is back\n")) << err();
  EXPECT_TRUE(shows("[2] 3 0@alpha:1000,1@alpha:1001 none")) << out();
  EXPECT_TRUE(shows("[3] 4 0@alpha:1000,1@alpha:1001,2@beta:1002 none")) << out();
  kill_in("pid3.4");  // the new node does what the old one did
  EXPECT_TRUE(shows("[3] 5 0@alpha:1000,1@alpha:1001,2@beta:1002 none")) << out();
  pid_in("pid3.5");
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_EQ(sorted_lines(slurp(path("connections"))), (Strings{"alpha", "ann@beta", "ann@beta"}));
}

TEST_F(RestartHosts, TheHostOfRankZeroComesBackWithoutASocket) {
  Running job(folder(), args());
  all_are_known();
  kill_in("ssh_alpha");
  EXPECT_TRUE(err_says("rank 0 on host alpha is back\n")) << err();
  EXPECT_TRUE(shows("[0] 3 2@beta:1002,3@beta:1003 none")) << out();
  EXPECT_TRUE(shows("[1] 4 0@alpha:1000,2@beta:1002,3@beta:1003 none")) << out();
  EXPECT_EQ(slurp(path("place0.3")), slurp(path("place0.0")));
  pid_in("pid1.4");
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(RestartHosts, AHostThatCannotBeReachedAgainIsTriedAgainAndDoesNotEndTheJob) {
  Running job(folder(), args());
  all_are_known();
  write("down", "");
  kill_in("ssh_ann@beta");
  EXPECT_TRUE(err_says("[ann@beta] no route\n"));
  EXPECT_TRUE(err_says(
      "rank 2 was lost: host ann@beta could not be reached again (./fake_ssh exited with 255); it was not "
      "back yet, and is started again after 1 s\n"))
      << err();
  fs::remove(path("down"));
  EXPECT_TRUE(err_says("rank 2 on host ann@beta is back\n")) << err();
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(RestartHosts, AHostThatRefusesWhenItIsReachedAgainDoesNotEndTheJob) {
  Running job(folder(), args());
  all_are_known();
  write("fake_ssh", "#!/bin/sh\nread job; echo '{\"refused\":\"no\"}'; exec sleep 1000\n");
  kill_in("ssh_ann@beta");
  EXPECT_TRUE(err_says("rank 2 was lost: host ann@beta: no; it was not back yet")) << err();
  EXPECT_EQ(finish(job), 0) << err();
}

TEST_F(RestartHosts, AConnectionThatHangsWhileTheOthersFinishIsCut) {
  Running job(folder(), args({"--grace", "0.2"}));
  all_are_known();
  write("deaf", "");
  kill_in("ssh_ann@beta");
  const pid_t waiting = pid_in("waiting");
  EXPECT_EQ(finish(job), 0) << err();
  EXPECT_FALSE(lives(waiting));
  EXPECT_NE(err().find("rank 2 still runs, without which others have finished"), std::string::npos) << err();
}

TEST_F(RestartHosts, AnInterruptEndsAConnectionThatIsBeingMadeAgain) {
  Running job(folder(), args());
  all_are_known();
  write("deaf", "");
  kill_in("ssh_ann@beta");
  const pid_t waiting = pid_in("waiting");
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << err();
  EXPECT_FALSE(lives(waiting));
}

TEST_F(RestartHosts, NoRankThatWasStartedAgainOutlivesALauncherThatIsKilled) {
  Running job(folder(), args());
  all_are_known();
  kill_in("ssh_ann@beta");
  const auto pids = pids_in({"pid0.0", "pid1.1", "pid2.3", "pid3.4"});
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return !lives(pid); })) << pid;
}

}  // namespace
}  // namespace tacit::test
