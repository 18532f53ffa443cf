// SPDX-License-Identifier: MIT
// tacit launch on other machines, with a script in the place of ssh that runs everything here.
#include <gtest/gtest.h>

#include "support/launch.h"

namespace tacit::test {
namespace {

class LaunchHosts : public Launch {
 protected:
  void SetUp() override {
    // As ssh does it: the words go to a shell as one text. Keeps what it was called with.
    write("fake_ssh",
          "#!/bin/sh\n"
          "echo \"$*\" >>ssh_words\n"
          "host=$1; shift\n"
          "echo $$ >ssh_$host\n"
          "[ $host = down ] && { echo 'no route' >&2; exit 255; }\n"
          "echo \"welcome to $host\"\n"
          "exec sh -c \"exec $*\"\n");
    write("hosts", "# two machines\n\nalpha slots=2\n  beta\tslots=2  # the other one\r\n");
  }
  static Strings args(const Strings& more) {
    Strings all{"--hosts", "hosts", "--ssh", "./fake_ssh"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(LaunchHosts, RanksOfAllHostsAreOneJob) {
  ranks_do(
      "echo $TACIT_RANK/$TACIT_SIZE/$TACIT_LOCAL_SIZE ${TACIT_LISTEN_FD-none}\n"
      "cat /proc/self/fd/$TACIT_KEY_FD >key.$TACIT_RANK; echo $TACIT_RENDEZVOUS $TACIT_JOB "
      ">place.$TACIT_RANK\n"
      "cat /proc/$$/environ /proc/$$/cmdline /proc/$PPID/environ /proc/$PPID/cmdline >seen.$TACIT_RANK");
  const Result r = tacit("launch --hosts hosts --ssh ./fake_ssh -- ./rank");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(sorted_lines(r.out),
            (Strings{"[0] 0/4/2 4", "[1] 1/4/2 none", "[2] 2/4/2 none", "[3] 3/4/2 none"}));
  EXPECT_EQ(sorted_lines(r.err), (Strings{"[alpha] welcome to alpha", "[beta] welcome to beta"}));
  const std::string key = slurp(path("key.0"));
  EXPECT_EQ(key.size(), 64U);
  EXPECT_TRUE(slurp(path("place.0")).starts_with("tcp://alpha:")) << slurp(path("place.0"));
  for (const char* rank : {"0", "1", "2", "3"}) {
    EXPECT_EQ(slurp(path(std::string("key.") + rank)), key);
    EXPECT_EQ(slurp(path(std::string("place.") + rank)), slurp(path("place.0")));
    EXPECT_EQ(slurp(path(std::string("seen.") + rank)).find(key), std::string::npos);
  }
  EXPECT_EQ(slurp(path("ssh_words")).find(key), std::string::npos);
  EXPECT_NE(slurp(path("ssh_words")).find("launch --node"), std::string::npos);
}

TEST_F(LaunchHosts, ANumberOfRanksTakesTheFirstSlots) {
  const Result r =
      tacit("launch -n 3 --hosts hosts --ssh ./fake_ssh -- sh -c 'echo $TACIT_RANK/$TACIT_LOCAL_SIZE'");
  EXPECT_EQ(sorted_lines(r.out), (Strings{"[0] 0/2", "[1] 1/2", "[2] 2/1"})) << r.err;
  const Result one = tacit("launch -n 2 --hosts hosts --ssh ./fake_ssh -- true");
  EXPECT_EQ(one.err, "[alpha] welcome to alpha\n");  // nobody went to beta
}

TEST_F(LaunchHosts, BytesAndArgumentsArriveAsTheyAre) {
  write("one", "alpha\n");
  fs::create_directories(path("it's here"));
  fs::create_symlink(TACIT_PROGRAM, path("it's here/tacit"));
  const Result r = tacit(
      "launch --hosts one --ssh ./fake_ssh --remote-tacit \"./it's here/tacit\" --no-prefix -- "
      "printf 'a\\r\\001\\377\\303\\244%s|\\n\\nlast' \"it's '$HOME' \\\"x\\\" \303\244\"");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "a\r\001\377\303\244it's '" + std::string(getenv("HOME")) + "' \"x\" \303\244|\n\nlast");
}

TEST_F(LaunchHosts, AllOfALargeOutputIsShown) {
  const Result r = tacit("launch --hosts hosts --ssh ./fake_ssh -- seq 50000");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 200000);
}

TEST_F(LaunchHosts, PlaintextHasToBeAskedForThereToo) {
  write("one", "alpha\n");
  const Result r = tacit(
      "launch --hosts one --ssh ./fake_ssh --insecure-plaintext -- "
      "sh -c 'echo ${TACIT_KEY_FD-none} ${TACIT_INSECURE_PLAINTEXT-none}'");
  EXPECT_EQ(r.out, "[0] none 1\n") << r.err;
}

TEST_F(LaunchHosts, AFailingRankEndsTheOthersAndItsCodeIsTheJobs) {
  ranks_do(
      "[ $TACIT_RANK = 2 ] && { until [ -s pid0 -a -s pid1 -a -s pid3 ]; do sleep 0.05; done; exit 7; }\n"
      "echo $$ >pid$TACIT_RANK; exec sleep 1000");
  const Result r = tacit("launch --hosts hosts --ssh ./fake_ssh --grace 0.2 -- ./rank");
  EXPECT_EQ(r.code, 7);
  EXPECT_NE(r.err.find("tacit launch: rank 2 on host beta exited with 7\n"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("ranks 0, 1, 3 were killed by signal 15 (Terminated); rank 2 exited with 7"),
            std::string::npos)
      << r.err;
  for (const pid_t pid : pids_in({"pid0", "pid1", "pid3"})) EXPECT_FALSE(lives(pid));
}

TEST_F(LaunchHosts, SignalsGoToTheRanks) {
  ranks_do("echo $$ >pid$TACIT_RANK; exec sleep 1000");
  Running job(folder(), args({"--", "./rank"}));
  const auto pids = pids_in({"pid0", "pid1", "pid2", "pid3"});
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << err();
  EXPECT_NE(err().find("ranks 0-3 were killed by signal 2 (Interrupt)"), std::string::npos) << err();
  for (const pid_t pid : pids) EXPECT_FALSE(lives(pid));
}

TEST_F(LaunchHosts, NoRankOutlivesALauncherThatIsKilled) {
  ranks_do("sleep 1000 & echo $! >grand$TACIT_RANK; echo $$ >pid$TACIT_RANK; wait");
  Running job(folder(), args({"--", "./rank"}));
  const auto pids = pids_in({"pid0", "pid1", "pid2", "pid3", "grand0", "grand3"});
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return !lives(pid); })) << pid;
}

TEST_F(LaunchHosts, ALostHostIsNamedAndItsRanksEndToo) {
  ranks_do("echo $$ >pid$TACIT_RANK; exec sleep 1000");
  Running job(folder(), args({"--grace", "0", "--", "./rank"}));
  const auto pids = pids_in({"pid0", "pid1", "pid2", "pid3"});
  kill_in("ssh_beta");
  EXPECT_EQ(job.wait(), 3) << err();
  EXPECT_NE(err().find("rank 2 was lost: the connection to host beta ended"), std::string::npos) << err();
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return !lives(pid); })) << pid;
}

class LosingHosts : public LaunchHosts {
 protected:
  void train_and(const std::string& options, const std::string& grace,
                 const std::function<void()>& interfere) {
    train_and_lose_one(options, args({"--grace", grace, "--", "./rank"}), interfere);
  }
};

TEST_F(LosingHosts, StrategiesThatCanGoOnDoSoWithoutAHost) {
  write("hosts", "127.0.0.1 slots=2\n127.0.0.2 slots=2\n");
  for (const char* strategy : {"gossip", "wagma"}) {
    train_and(std::string("--strategy ") + strategy, "0", [&] { kill_in("ssh_127.0.0.2"); });
    EXPECT_NE(out().find("[0] status          finished"), std::string::npos) << out();
    EXPECT_NE(out().find("2 of 4 workers finished"), std::string::npos) << out();
    for (const char* rank : {"2", "3"})
      EXPECT_NE(err().find(std::string("rank ") + rank + " was lost: the connection to host 127.0.0.2 ended"),
                std::string::npos)
          << err();
    EXPECT_NE(err().find("; the others go on without it"), std::string::npos) << err();
  }
}

TEST_F(LosingHosts, ARankThatIsStoppedOnAnotherHostIsNotWaitedForEither) {
  write("hosts", "127.0.0.1 slots=2\n127.0.0.2 slots=2\n");
  train_and("--lost-after 3 --strategy gossip", "1", [&] { kill(pid_in("pid.3"), SIGSTOP); });
  EXPECT_NE(err().find("ranks 0-2 exited with 0; rank 3 was killed by signal 9 (Killed)"), std::string::npos)
      << err();
}

TEST_F(LosingHosts, AHostThatNoLongerAnswersIsNotWaitedForEither) {
  write("hosts", "127.0.0.1 slots=2\n127.0.0.2\n");
  train_and("--lost-after 3 --strategy gossip", "0", [&] {
    kill(pid_in("ssh_127.0.0.2"), SIGSTOP);
    kill(pid_in("pid.2"), SIGSTOP);
  });
  EXPECT_NE(err().find("ranks 0, 1 exited with 0; rank 2 was lost: the connection to host 127.0.0.2 ended"),
            std::string::npos)
      << err();
  EXPECT_TRUE(eventually([&] { return !lives(pid_in("pid.2")); }));
}

TEST_F(LaunchHosts, ALineThatDoesNotEndIsCutAndSaysSo) {
  write("long_ssh",
        "#!/bin/sh\nshift\nhead -c 3000000 /dev/zero | tr '\\0' x; echo; exec sh -c \"exec $*\"\n");
  write("one", "alpha\n");
  const Result r = tacit("launch --hosts one --ssh ./long_ssh -- echo hello");
  EXPECT_EQ(r.code, 0) << r.err.substr(0, 1000);
  EXPECT_EQ(r.out, "[0] hello\n");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), 'x'), 65536);
  EXPECT_NE(r.err.find(std::to_string(3000000 - 65536) + " bytes more, which were cut off"),
            std::string::npos);
}

TEST_F(LaunchHosts, AHostThatCannotBeUsedIsNamed) {
  const auto refused = [&](const std::string& more, const Strings& words) {
    const Result r = tacit("launch --ssh ./fake_ssh " + more);
    EXPECT_EQ(r.code, 2) << more << "\n" << r.err;
    for (const std::string& word : words)
      EXPECT_NE(r.err.find(word), std::string::npos) << more << "\n" << r.err;
    EXPECT_EQ(r.err.find("tacit launch: "), std::string::npos)
        << r.err;  // of the other ranks nothing is said
  };
  write("two", "alpha\ndown\n");
  refused("--hosts two -- sleep 1000", {"[down] no route", "tacit: host down could not be reached", "255"});
  refused("--hosts hosts --remote-tacit /nowhere/tacit -- true",
          {"cannot run /nowhere/tacit", "--remote-tacit"});
  refused("--hosts hosts -- ./nowhere", {"tacit: host ", ": cannot start './nowhere'"});
  refused("--hosts hosts --remote-tacit /bin/false -- true", {"could not be reached", "exited with 1"});
}

TEST_F(LaunchHosts, AFolderThatIsNotThereIsNamed) {
  write("elsewhere_ssh", "#!/bin/sh\nshift\ncd /\nrmdir \"$OLDPWD\"\nexec sh -c \"$*\"\n");
  fs::create_directories(path("gone"));
  write("run", "#!/bin/sh\ncd gone\nexec '" TACIT_PROGRAM
               "' launch --hosts ../hosts --ssh ../elsewhere_ssh -- true\n");
  const std::string command = "cd '" + folder().string() + "' && ./run >out 2>err </dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  EXPECT_NE(err().find("cannot work in the folder"), std::string::npos) << err();
}

TEST_F(LaunchHosts, BadHostFilesAreRefused) {
  const auto refused = [&](const std::string& text, const Strings& words) {
    write("bad", text);
    expect_refusal("launch --hosts bad --ssh ./fake_ssh -- true", words);
  };
  const std::string expected = "HOST [slots=N]";
  refused("alpha\nbeta slots=x\n", {"bad:2", "'beta slots=x'", expected});
  refused("alpha slots=0\n", {"bad:1", "slots=0", expected});
  refused("alpha slots=2x\n", {"bad:1", expected});
  refused("alpha slots\n", {"bad:1", expected});
  refused("alpha slots=2 max=4\n", {"bad:1", expected});
  refused("slots=2\n", {"bad:1", expected});
  refused("-oProxyCommand=x\n", {"bad:1", expected});
  refused("alpha\n\n# no\nalpha slots=2\n", {"bad:4", "'alpha'", "line 1"});
  refused("# nobody\n\n", {"bad", "no host", expected});
  refused("localhost\nbeta\n", {"localhost", "beta"});
  expect_refusal("launch --hosts nowhere -- true", {"nowhere"});
  expect_refusal("launch --hosts . -- true", {expected});
  expect_refusal("launch -n 5 --hosts hosts -- true", {"-n 5", "4 slots"});
  expect_refusal("launch -n 0 --hosts hosts -- true", {"-n 0"});
  expect_refusal("launch --hosts hosts --ssh ' ' -- true", {"--ssh"});
  expect_refusal("launch --hosts hosts --ssh ./nowhere -- true", {"./nowhere"});
}

}  // namespace
}  // namespace tacit::test
