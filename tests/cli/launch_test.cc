// SPDX-License-Identifier: MIT
// tacit launch on one machine.
#include "support/launch.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <set>

namespace tacit::test {
namespace {

TEST_F(Launch, EveryRankIsToldItsPlaceAndEveryLineNamesItsRank) {
  ranks_do("echo $TACIT_RANK/$TACIT_SIZE/$TACIT_LOCAL_SIZE; echo $TACIT_JOB >&2; printf 'no end'");
  const Result r = tacit("launch -n 3 --job my.job-1 -- ./rank");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(sorted_lines(r.out),
            (Strings{"[0] 0/3/3", "[0] no end", "[1] 1/3/3", "[1] no end", "[2] 2/3/3", "[2] no end"}));
  EXPECT_EQ(sorted_lines(r.err), (Strings{"[0] my.job-1", "[1] my.job-1", "[2] my.job-1"}));
}

TEST_F(Launch, WithoutANameTheJobGetsARandomOne) {
  const std::string args = "launch -n 1 --no-prefix -- sh -c 'printf $TACIT_JOB'";
  const std::string first = tacit(args).out;
  EXPECT_EQ(first.size(), 16U);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(tacit(args).out, first);
}

TEST_F(Launch, AnOuterJobsVariablesDoNotReachTheRanks) {
  setenv("TACIT_KEY_FILE", "/of/another/job", 1);
  setenv("TACIT_LISTEN_FD", "9", 1);
  setenv("TACIT_RETURN", "1", 1);
  setenv("TACIT_MEMBERS", "0@127.0.0.1:9", 1);
  const Result r = tacit(
      "launch -n 2 -- sh -c 'echo ${TACIT_KEY_FILE-none} ${TACIT_LISTEN_FD-none} ${TACIT_RETURN-none} "
      "${TACIT_MEMBERS-none}'");
  for (const char* name : {"TACIT_KEY_FILE", "TACIT_LISTEN_FD", "TACIT_RETURN", "TACIT_MEMBERS"})
    unsetenv(name);
  EXPECT_EQ(sorted_lines(r.out), (Strings{"[0] none 4 none none", "[1] none none none none"}));
}

TEST_F(Launch, ArgumentsArriveAsTheyWereWritten) {
  const Result r = tacit("launch -n 1 -- printf '%s|' '[a,b]' '' -n --help -- train 'two words'");
  EXPECT_EQ(r.out, "[0] [a,b]||-n|--help|--|train|two words|\n") << r.err;
}

TEST_F(Launch, StdinGoesToRankZeroAlone) {
  write("in", "hello\n");
  Running job(folder(), {"-n", "3", "--", "sh", "-c", "read x; echo got:$x"}, "in");
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(sorted_lines(out()), (Strings{"[0] got:hello", "[1] got:", "[2] got:"}));
}

TEST_F(Launch, WhatIsTypedGoesToRankZeroAndCtrlCInterrupts) {
  ranks_do("read line; echo \"got:$line.\"; exec sleep 1000");
  const std::string rank = path("rank").string();
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child < 0)
    GTEST_SKIP() << "no pseudo-terminal here (" << std::strerror(errno) << "); mount /dev/pts to test Ctrl-C";
  if (child == 0) {
    execl(TACIT_PROGRAM, "tacit", "launch", "-n", "2", "--", rank.c_str(), nullptr);
    _exit(127);
  }
  std::string shown;
  const auto show_until = [&](const std::string& words) {
    std::array<char, 256> buffer{};
    while (shown.find(words) == std::string::npos) {
      const ssize_t count = read(terminal, buffer.data(), buffer.size());
      if (count <= 0) return false;
      shown.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return true;
  };
  EXPECT_EQ(::write(terminal, "hello\n", 6), 6);
  EXPECT_TRUE(show_until("[0] got:hello.")) << shown;
  EXPECT_TRUE(show_until("[1] got:.")) << shown;
  EXPECT_EQ(::write(terminal, "\x03", 1), 1);
  EXPECT_TRUE(show_until("ranks 0, 1 were killed by signal 2 (Interrupt)")) << shown;
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), 130);
}

TEST_F(Launch, BytesPassUnchangedWithoutPrefix) {
  const Result r = tacit("launch -n 1 --no-prefix -- printf 'a\\r\\001\\377\\n\\nlast'");
  EXPECT_EQ(r.out, std::string("a\r\001\377\n\nlast"));
}

TEST_F(Launch, AVeryLongLineIsShownInPieces) {
  const Result r = tacit("launch -n 1 -- sh -c 'head -c 200000 /dev/zero | tr \"\\0\" x; echo y'");
  const Strings pieces = sorted_lines(r.out);
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), 'x'), 200000);
  for (const std::string& piece : pieces) EXPECT_LE(piece.size(), 65536U + 4);
  EXPECT_TRUE(r.out.ends_with("xy\n"));
}

TEST_F(Launch, AllOfALargeOutputIsShown) {
  const Result r = tacit("launch -n 2 -- seq 200000");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 400000);
  EXPECT_NE(r.out.find("[0] 200000\n"), std::string::npos);
  EXPECT_NE(r.out.find("[1] 200000\n"), std::string::npos);
}

TEST_F(Launch, TheKeyIsReadThroughADescriptorAndStandsNowhereElse) {
  ranks_do(
      "key=$(cat /proc/self/fd/$TACIT_KEY_FD)\n"
      "echo $key\n"
      "for p in $$ $PPID; do cat /proc/$p/environ /proc/$p/cmdline; done >seen.$TACIT_RANK");
  std::set<std::string> keys;
  for (int job = 0; job < 2; ++job) {
    const Result r = tacit("launch -n 2 -- ./rank");
    EXPECT_EQ(r.code, 0) << r.err;
    const Strings shown = sorted_lines(r.out);
    ASSERT_EQ(shown.size(), 2U);
    const std::string key = shown[0].substr(4);
    EXPECT_EQ(shown[1], "[1] " + key);
    EXPECT_EQ(key.size(), 64U);
    EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
    for (const char* seen : {"seen.0", "seen.1"}) {
      EXPECT_NE(slurp(path(seen)).find("TACIT_KEY_FD=3"), std::string::npos);
      EXPECT_EQ(slurp(path(seen)).find(key), std::string::npos);
    }
    keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 2U);
}

TEST_F(Launch, TheKeyCannotBeChanged) {
  const Result r = tacit("launch -n 1 -- sh -c 'echo 0 >/proc/self/fd/3; cat /proc/self/fd/3'");
  EXPECT_EQ(r.out.size(), 4 + 64 + 1U) << r.out << r.err;
}

TEST_F(Launch, PlaintextHasToBeAskedForAndIsNamed) {
  const std::string show =
      " -- sh -c 'echo ${TACIT_KEY_FD-none} ${TACIT_INSECURE_PLAINTEXT-none}; ls /proc/self/fd/3'";
  EXPECT_EQ(tacit("launch -n 1" + show).out, "[0] 3 none\n[0] /proc/self/fd/3\n");
  const Result r = tacit("launch -n 1 --grace 0 --insecure-plaintext" + show);
  EXPECT_EQ(r.out, "[0] none 1\n");
  EXPECT_TRUE(r.err.starts_with("tacit launch: --insecure-plaintext")) << r.err;
}

TEST_F(Launch, ARankHasItsOwnDescriptorsAndNoOthers) {
  // ls itself opens one more, the folder.
  const Result r = tacit("launch -n 2 -- sh -c 'echo $(ls /proc/self/fd)' 7</dev/null 9</dev/null");
  EXPECT_EQ(sorted_lines(r.out), (Strings{"[0] 0 1 2 3 4 5 6", "[1] 0 1 2 3 4 5"}));
}

TEST_F(Launch, RankZeroListensWhereTheOthersAreSentTo) {
  ranks_do("echo $TACIT_RENDEZVOUS; echo $$ >pid$TACIT_RANK; exec sleep 1000");
  Running job(folder(), {"-n", "2", "--grace", "0", "--", "./rank"});
  const pid_t rank0 = pids_in({"pid0", "pid1"}).front();
  ASSERT_TRUE(eventually([&] { return sorted_lines(out()).size() == 2; }));
  const Strings lines = sorted_lines(out());
  const std::string place = lines[0].substr(4);
  EXPECT_EQ(lines[1].substr(4), place);
  ASSERT_TRUE(place.starts_with("tcp://127.0.0.1:")) << place;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(place.substr(place.rfind(':') + 1))));
  const auto reaches = [&] {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    return connected;
  };
  EXPECT_TRUE(reaches());
  kill(rank0, SIGKILL);  // nobody else holds the socket
  EXPECT_TRUE(eventually([&] { return !reaches(); }));
  EXPECT_EQ(job.wait(), 3);
}

TEST_F(Launch, AFailingRankEndsTheOthersAndItsCodeIsTheJobs) {
  ranks_do(
      "[ $TACIT_RANK = 1 ] && { until [ -s pid0 -a -s pid2 ]; do sleep 0.05; done; exit 7; }\n"
      "echo $$ >pid$TACIT_RANK; exec sleep 1000");
  const Result r = tacit("launch -n 3 --grace 0.2 -- ./rank");
  EXPECT_EQ(r.code, 7);
  EXPECT_EQ(r.err,
            "tacit launch: rank 1 exited with 7\n"
            "tacit launch: ranks 0, 2 still run and are ended\n"
            "tacit launch: ranks 0, 2 were killed by signal 15 (Terminated); rank 1 exited with 7\n");
  for (const pid_t pid : pids_in({"pid0", "pid2"})) EXPECT_FALSE(lives(pid));
}

TEST_F(Launch, AsManyRanksAsMayBeLostDoNotEndTheOthers) {
  ranks_do("[ $TACIT_RANK = 1 ] && exit 7\nsleep 0.5; echo done");
  Result r = tacit("launch -n 3 --may-lose 1 --grace 0 -- ./rank");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(sorted_lines(r.out), (Strings{"[0] done", "[2] done"}));
  EXPECT_EQ(r.err,
            "tacit launch: rank 1 exited with 7; the others go on (--may-lose 1)\n"
            "tacit launch: ranks 0, 2 exited with 0; rank 1 exited with 7\n");
  ranks_do(
      "[ $TACIT_RANK = 1 ] && exit 7\n[ $TACIT_RANK = 2 ] && {\n"
      "until [ -e named ]; do sleep 0.05; done; exit 8; }\nexec sleep 1000");
  Running job(folder(), {"-n", "3", "--may-lose", "1", "--grace", "0", "--", "./rank"});
  EXPECT_TRUE(err_says("rank 1 exited with 7")) << err();
  std::ofstream(path("named")) << "\n";
  EXPECT_EQ(job.wait(), 7) << err();
  EXPECT_NE(
      err().find("rank 0 was killed by signal 15 (Terminated); rank 1 exited with 7; rank 2 exited with 8"),
      std::string::npos)
      << err();
}

TEST_F(Launch, ARankThatOthersFinishedWithoutIsEndedAndASlowOneIsNot) {
  ranks_do(
      others_go_on() +
      "echo $$ >pid$TACIT_RANK\n[ $TACIT_RANK = 2 ] && exec sleep 1000\nuntil [ -s pid2 ]; do sleep 0.05; "
      "done\n"
      "[ $TACIT_RANK = 0 ] && {\n" +
      note("2", 2) +
      "exit 0; }\nwhile kill -0 $(cat pid2); do sleep 0.05; done 2>/dev/null; sleep 0.5; echo done");
  const Result r = tacit("launch -n 3 --grace 0.2 -- ./rank");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "[1] done\n");
  EXPECT_EQ(
      r.err,
      "tacit launch: rank 2 still runs, without which others have finished; it has 0.2 s to end by itself\n"
      "tacit launch: rank 2 still runs and is ended\n"
      "tacit launch: ranks 0, 1 exited with 0; rank 2 was killed by signal 15 (Terminated)\n");
}

TEST_F(Launch, ARankThatWasCutOffDoesNotEndThoseThatGoOnWithoutIt) {
  ranks_do(others_go_on() + "[ $TACIT_RANK = 1 ] && { touch cut; exit 3; }\n" +
           "until [ -e cut ]; do sleep 0.05; done; sleep 0.3; echo done");
  Result r = tacit("launch -n 2 --grace 0 -- ./rank");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "[0] done\n");
  EXPECT_NE(r.err.find("rank 1 exited with 3; the others go on without it"), std::string::npos) << r.err;
  ranks_do(others_go_on() + "exit 3");  // nobody is left that could have
  r = tacit("launch -n 2 -- ./rank");
  EXPECT_EQ(r.code, 3) << r.err;
}

TEST_F(Launch, AFailureAfterALossThatWasSparedIsTheJobs) {
  ranks_do(others_go_on() + "[ $TACIT_RANK = 1 ] && { touch cut; kill -9 $$; }\n" +
           "until [ -e cut ]; do sleep 0.05; done; sleep 0.3; exit 7");
  const Result r = tacit("launch -n 2 -- ./rank");
  EXPECT_EQ(r.code, 7) << r.err;
  EXPECT_NE(r.err.find("tacit launch: rank 0 exited with 7\n"), std::string::npos) << r.err;
}

TEST_F(Launch, RanksThatIgnoreTheRequestToEndAreKilled) {
  ranks_do(
      "[ $TACIT_RANK = 1 ] && { until [ -s pid0 ]; do sleep 0.05; done; exit 7; }\n"
      "trap '' TERM; echo $$ >pid0; while :; do sleep 0.1; done");
  const Result r = tacit("launch -n 2 --grace 0 -- ./rank");
  EXPECT_EQ(r.code, 7);
  EXPECT_NE(r.err.find("rank 0 was killed by signal 9 (Killed); rank 1 exited with 7"), std::string::npos)
      << r.err;
  EXPECT_FALSE(lives(pid_in("pid0")));
}

TEST_F(Launch, OthersHaveTimeToEndByThemselves) {
  ranks_do(
      "[ $TACIT_RANK = 1 ] && { touch failed; exit 1; }\n"
      "until [ -e failed ]; do sleep 0.05; done; sleep 0.1; echo ended by myself; exit 3");
  const Result r = tacit("launch -n 2 --grace 600 -- ./rank");
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_EQ(r.out, "[0] ended by myself\n");
  EXPECT_NE(r.err.find("rank 0 exited with 3; rank 1 exited with 1"), std::string::npos) << r.err;
}

TEST_F(Launch, TheCauseCountsAndNotTheLossThatOthersNoticeFirst) {
  ranks_do("[ $TACIT_RANK = 0 ] && exit 3\nsleep 0.3; exit 9");
  const Result r = tacit("launch -n 2 -- ./rank");
  EXPECT_EQ(r.code, 9) << r.err;
}

TEST_F(Launch, AKilledRankIsALostPeer) {
  ranks_do("[ $TACIT_RANK = 2 ] && kill -9 $$\nexit 0");
  const Result r = tacit("launch -n 3 -- ./rank");
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.err,
            "tacit launch: rank 2 was killed by signal 9 (Killed)\n"
            "tacit launch: ranks 0, 1 exited with 0; rank 2 was killed by signal 9 (Killed)\n");
}

TEST_F(Launch, WhatARankLeavesBehindIsEnded) {
  ranks_do("sleep 1000 & echo $! >left; exit 0");
  const Result r = tacit("launch -n 1 -- ./rank");
  EXPECT_EQ(r.code, 0) << r.err;
  const pid_t left = pid_in("left");
  EXPECT_TRUE(eventually([&] { return !lives(left); }));
}

TEST_F(Launch, MoreRanksThanTheSystemAllowsAreRefusedBeforeTheFirstStarts) {
  write("run", "#!/bin/sh\nulimit -n 64\nexec '" TACIT_PROGRAM "' launch -n 20 -- touch started\n");
  const std::string command = "cd '" + folder().string() + "' && ./run >out 2>err </dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  EXPECT_NE(err().find("ulimit -n"), std::string::npos) << err();
  EXPECT_FALSE(fs::exists(path("started")));
}

class LaunchSignal : public Launch, public ::testing::WithParamInterface<int> {};

TEST_P(LaunchSignal, GoesToTheRanksAndToWhatTheyStarted) {
  ranks_do("sleep 1000 & echo $! >grand$TACIT_RANK; echo $$ >pid$TACIT_RANK; wait");
  Running job(folder(), {"-n", "2", "--", "./rank"});
  const auto pids = pids_in({"pid0", "pid1", "grand0", "grand1"});
  job.signal(GetParam());
  EXPECT_EQ(job.wait(), 128 + GetParam()) << err();
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return !lives(pid); }));
}

INSTANTIATE_TEST_SUITE_P(All, LaunchSignal, ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2));

TEST_F(Launch, ASignalThatRanksHandleIsTheirsToAnswer) {
  ranks_do("trap 'echo saved; exit 0' USR1; echo $$ >pid$TACIT_RANK; while :; do sleep 0.05; done");
  Running job(folder(), {"-n", "2", "--", "./rank"});
  pids_in({"pid0", "pid1"});
  job.signal(SIGUSR1);
  EXPECT_EQ(job.wait(), 0) << err();
  EXPECT_EQ(sorted_lines(out()), (Strings{"[0] saved", "[1] saved"}));
}

TEST_F(Launch, WhatNohupIgnoresStaysIgnored) {
  ranks_do("echo $$ >pid; until [ -s go ]; do sleep 0.05; done");
  ::signal(SIGHUP, SIG_IGN);
  Running job(folder(), {"-n", "1", "--", "./rank"});
  ::signal(SIGHUP, SIG_DFL);
  const pid_t rank = pid_in("pid");
  job.signal(SIGHUP);
  kill(rank, SIGHUP);
  write("go", "now");
  EXPECT_EQ(job.wait(), 0) << err();
}

TEST_F(Launch, ASecondInterruptKills) {
  ranks_do("trap '' INT TERM; echo $$ >pid$TACIT_RANK; while :; do sleep 0.1; done");
  Running job(folder(), {"-n", "2", "--", "./rank"});
  const auto pids = pids_in({"pid0", "pid1"});
  job.signal(SIGINT);
  EXPECT_TRUE(err_says("SIGINT goes to the ranks"));
  for (const pid_t pid : pids) EXPECT_TRUE(lives(pid));
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << err();
  for (const pid_t pid : pids) EXPECT_FALSE(lives(pid));
}

TEST_F(Launch, NoRankOutlivesALauncherThatIsKilled) {
  ranks_do("sleep 1000 & echo $! >grand$TACIT_RANK; echo $$ >pid$TACIT_RANK; wait");
  Running job(folder(), {"-n", "2", "--", "./rank"});
  const auto pids = pids_in({"pid0", "pid1", "grand0", "grand1"});
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return !lives(pid); })) << pid;
}

TEST_F(Launch, OutputThatCannotBeWrittenEndsTheJob) {
  ranks_do("echo $$ >pid; echo text; exec sleep 1000");
  const std::string run = "cd '" + folder().string() + "' && exec '" TACIT_PROGRAM "' launch -n 1 -- ./rank ";
  EXPECT_EQ(WEXITSTATUS(std::system((run + ">/dev/full 2>err </dev/null").c_str())), 1);
  EXPECT_NE(err().find("cannot write to standard output (No space left on device)"), std::string::npos)
      << err();
  const std::string end = "tacit launch: rank 0 was killed by signal 15 (Terminated)\n";
  EXPECT_EQ(err().find(end), err().size() - end.size())
      << err();  // said once, at the end, and not as the cause
  EXPECT_FALSE(lives(pid_in("pid")));
}

TEST_F(Launch, WhatCannotBeIsRefused) {
  write("plain", "text");
  fs::permissions(path("plain"), fs::perms::owner_read);
  expect_refusal("launch -n 2 -- ./nowhere", {"./nowhere", "No such file"});
  expect_refusal("launch -n 2 -- ./plain", {"./plain", "Permission denied"});
  expect_refusal("launch -n 0 -- true", {"-n 0"});
  expect_refusal("launch -n -1 -- true", {"-n -1"});
  expect_refusal("launch -n four -- true", {"four"});
  expect_refusal("launch -- true", {"-n N", "--hosts"});
  expect_refusal("launch -n 2", {"no program"});
  expect_refusal("launch -n 2 --", {"no program"});
  expect_refusal("launch -n 2 --job 'a b' -- true", {"'a b'"});
  expect_refusal("launch -n 2 --grace -1 -- true", {"--grace"});
  expect_refusal("launch -n 2 --grace nan -- true", {"--grace"});
  expect_refusal("launch -n 2 --may-lose 2 -- true", {"--may-lose 2", "give 1 or fewer"});
  expect_refusal("launch -n 2 --may-lose -1 -- true", {"--may-lose"});
  expect_refusal("launch -n 2 --restart -1 -- true", {"--restart -1", "give 0 or more"});
  expect_refusal("launch -n 2 --restart x -- true", {"--restart", "x"});
  expect_refusal("launch -n 2 --ssh x -- true", {"--ssh", "--hosts"});
  expect_refusal("launch -n 2 --grase 1 -- true", {"--grase", "'--grace'"});
  expect_refusal("launch -n 100000 -- true", {"-n 100000", "--hosts"});
}

}  // namespace
}  // namespace tacit::test
