// SPDX-License-Identifier: MIT
// Real processes that die, stop or fall behind in the middle of a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "support/launch.h"

namespace tacit::test {
namespace {

std::string name_of(const ::testing::TestParamInfo<const char*>& each) {
  std::string name = each.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class LostPeers : public Launch {
 protected:
  // Four ranks that train until they are ended; each rank's process id is in the file pid.RANK.
  void train(const std::string& options) {
    ranks_do("echo $$ >pid.$TACIT_RANK\nexec '" TACIT_PROGRAM
             "' train --model mlp --data synthetic --steps 100000000 --batch 8 " +
             options);
  }
  Strings job(const std::string& grace) { return {"-n", "4", "--grace", grace, "--", "./rank"}; }
  pid_t victim() {
    const std::vector<pid_t> pids = pids_in({"pid.0", "pid.1", "pid.2", "pid.3"});
    EXPECT_TRUE(err_says("[0] epoch 1.00")) << err();  // all have met, and train
    return pids[2];
  }
  // Every rank but 2 says in its last words that it lost rank 2.
  void expect_all_name_rank_two() {
    for (const char* rank : {"0", "1", "3"})
      EXPECT_NE(err().find(std::string("[") + rank + "] tacit: rank " + rank + " lost rank 2: "),
                std::string::npos)
          << "rank " << rank << "\n"
          << err();
  }
};

TEST_F(LostPeers, ARankThatIsKilledIsNamedByAllOthers) {
  train("");
  Running launch(folder(), job("50"));
  kill(victim(), SIGKILL);
  EXPECT_EQ(launch.wait(), 3);
  expect_all_name_rank_two();
  EXPECT_NE(err().find("ranks 0, 1, 3 exited with 3; rank 2 was killed by signal 9"), std::string::npos)
      << err();
}

TEST_F(LostPeers, ARankThatIsStoppedIsNamedByAllOthers) {
  train("--lost-after 2");
  Running launch(folder(), job("10"));  // a stopped process does not end by itself
  kill(victim(), SIGSTOP);
  EXPECT_EQ(launch.wait(), 3);
  expect_all_name_rank_two();
  EXPECT_NE(err().find("nothing was heard of it for"), std::string::npos) << err();
}

TEST_F(LostPeers, ARankThatFailsGivesTheOthersItsReason) {
  // Rank 2 runs in a folder without the data, which it learns when all have met.
  fs::create_directory(path("elsewhere"));
  const auto number = [](int n) { return std::string{0, 0, 0, static_cast<char>(n)}; };
  constexpr int kSamples = 64;
  for (const char* part : {"train", "t10k"}) {
    write(std::string(part) + "-images-idx3-ubyte", std::string{0, 0, 8, 3} + number(kSamples) + number(2) +
                                                        number(2) + std::string(4 * kSamples, 'x'));
    write(std::string(part) + "-labels-idx1-ubyte",
          std::string{0, 0, 8, 1} + number(kSamples) + std::string(kSamples, 1));
  }
  ranks_do("[ $TACIT_RANK = 2 ] && cd elsewhere\nexec '" TACIT_PROGRAM
           "' train --model mlp --data mnist:path=. --steps 100000000 --batch 8");
  Running launch(folder(), job("50"));
  EXPECT_EQ(launch.wait(), 2);
  EXPECT_NE(err().find("[2] tacit: ./train-images-idx3-ubyte is missing"), std::string::npos) << err();
  expect_all_name_rank_two();
  EXPECT_NE(err().find("lost rank 2: ./train-images-idx3-ubyte is missing"), std::string::npos) << err();
}

TEST_F(LostPeers, WhoeverWaitsLongSaysForWhomAndRankZeroNamesTheCulprit) {
  // Rank 2 lives, answers heartbeats, and does not train: a program with several threads of which one hangs. A stopped
  // process would be lost before it could be called late.
  train("--stall 1 --lost-after 600");
  Running launch(folder(), job("1"));
  const pid_t rank_two = victim();
  kill(rank_two, SIGSTOP);
  EXPECT_TRUE(err_says("[0] tacit: warning: who waits for whom: ")) << err();
  EXPECT_TRUE(err_says("look at rank 2")) << err();
  EXPECT_TRUE(err_says("waits for rank 2 in all-reduce")) << err();
  kill(rank_two, SIGCONT);
  launch.signal(SIGINT);
  EXPECT_EQ(launch.wait(), 130) << err();
}

TEST_F(LostPeers, AKilledRankZeroIsNamedToo) {
  train("");
  Running launch(folder(), job("50"));
  victim();
  kill_in("pid.0");
  EXPECT_EQ(launch.wait(), 3);
  for (const char* rank : {"1", "2", "3"})
    EXPECT_NE(err().find(std::string("[") + rank + "] tacit: rank " + rank + " lost rank 0: "),
              std::string::npos)
        << err();
}

class Survivors : public LostPeers, public ::testing::WithParamInterface<const char*> {
 protected:
  struct Job {
    std::string options{};
    Strings launch{"-n", "4", "--", "./rank"};
  };
  void train_and(const Job& job, const std::function<void()>& interfere) {
    train_and_lose_one(std::string("--strategy ") + GetParam() + " " + job.options, job.launch, interfere);
  }

  // Kills a rank and expects the others to finish.
  void expect_end_without(int rank, const std::string& reporter) {
    const std::string name = std::to_string(rank);
    train_and({"--out run"}, [&] { kill_in("pid." + name); });
    EXPECT_NE(out().find("[" + reporter + "] status          finished"), std::string::npos) << out() << err();
    EXPECT_NE(out().find("rank " + name + " was lost at step "), std::string::npos) << out();
    EXPECT_NE(out().find("3 of 4 workers finished"), std::string::npos) << out();
    EXPECT_NE(err().find("rank " + name + " was killed by signal 9 (Killed); the others go on without it"),
              std::string::npos)
        << err();
  }
};

TEST_P(Survivors, FinishWithoutARankThatIsKilled) {
  expect_end_without(2, "0");
  EXPECT_NE(slurp(path("run/run.jsonl")).find("\"event\":\"rank_lost\",\"rank\":2"), std::string::npos);
}

TEST_P(Survivors, FinishWithoutRankZeroAndTheNextOneReports) { expect_end_without(0, "1"); }

TEST_P(Survivors, LeaveAnAccountWithoutRankZero) {
  train_and({"--out run --target 0.01"}, [&] { kill_in("pid.0"); });
  const auto summary = nlohmann::json::parse(slurp(path("run/summary.json")));
  EXPECT_EQ(summary.at("status"), "finished");
  EXPECT_EQ(summary.at("lost").size(), 1U);

  double before_loss = 0;  // when the last evaluation was that rank 0 wrote
  std::set<int> writers;
  nlohmann::json last;
  std::istringstream log(slurp(path("run/run.jsonl")));
  for (std::string line; std::getline(log, line);) {
    last = nlohmann::json::parse(line);
    if (last.at("event") == "steps_done") writers.insert(last.at("rank").get<int>());
    if (last.at("event") == "evaluated" && writers == std::set{0}) before_loss = last.at("seconds");
  }
  EXPECT_EQ(writers, (std::set{0, 1}));
  EXPECT_EQ(last.at("status"), "finished");
  // The first evaluation reached it, and rank 1 knows that one too.
  EXPECT_LT(summary.at("target_seconds").get<double>(), before_loss);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Survivors, ::testing::Values("gossip", "wagma", "asgd", "easgd"),
                         name_of);

// What is stopped and not gone. These wait for long, and what they try is the launcher and the world: one strategy with
// servers and one without.
class StoppedSurvivors : public Survivors {};

// It goes on when the others have given it up: it must not train on by itself and call that a result.
TEST_P(StoppedSurvivors, ARankThatWasStoppedForLongEndsAndBlamesNobodyElse) {
  train_and({"--lost-after 2 --out run", {"-n", "4", "--grace", "60", "--", "./rank"}}, [&] {
    kill(pid_in("pid.2"), SIGSTOP);
    EXPECT_TRUE(eventually([&] {
      return err().find("rank 2 was lost at step ") != std::string::npos ||
             out().find("status          finished") != std::string::npos;
    })) << err();
    kill(pid_in("pid.2"), SIGCONT);
  });
  EXPECT_NE(out().find("3 of 4 workers finished"), std::string::npos) << out() << err();
  EXPECT_EQ(out().find("[2] status"), std::string::npos) << out();
  EXPECT_NE(err().find("[2] tacit: rank 2 is lost to the others: "), std::string::npos) << err();
  EXPECT_EQ(err().find("rank 2 lost rank"), std::string::npos) << err();
}

TEST_P(StoppedSurvivors, ThatAreTooFewDoNotLeaveTheLauncherWithThoseThatAreStopped) {
  ranks_do("echo $$ >pid.$TACIT_RANK\nexec '" TACIT_PROGRAM
           "' train --model mlp --data synthetic --epochs 1000000 --batch 8 --lost-after 2 --strategy " +
           std::string(GetParam()));
  Running launch(folder(), {"-n", "2", "--grace", "1", "--", "./rank"});
  pids_in({"pid.0", "pid.1"});
  ASSERT_TRUE(err_says("[0] epoch 1.00")) << err();
  kill(pid_in("pid.0"), SIGSTOP);
  EXPECT_EQ(launch.wait(), 3) << err();
  EXPECT_NE(err().find("rank 0 is stopped, and no other rank is left; 1 s until it is ended"),
            std::string::npos)
      << err();
}

TEST_P(StoppedSurvivors, AreNotWaitingForARankThatIsStopped) {
  train_and({"--lost-after 3", {"-n", "4", "--grace", "1", "--", "./rank"}},
            [&] { kill(pid_in("pid.2"), SIGSTOP); });
  EXPECT_NE(out().find("3 of 4 workers finished"), std::string::npos) << out();
  EXPECT_NE(err().find("rank 2 still runs, without which others have finished; it has 1 s to end by itself"),
            std::string::npos)
      << err();
  EXPECT_NE(err().find("ranks 0, 1, 3 exited with 0; rank 2 was killed by signal 9 (Killed)"),
            std::string::npos)
      << err();
}

INSTANTIATE_TEST_SUITE_P(Strategies, StoppedSurvivors, ::testing::Values("gossip", "asgd"), name_of);

// Rank 0 has all of the servers' weights: those of the others' replicas take their place.
class WithoutTheirServer : public Survivors {};

TEST_P(WithoutTheirServer, GoOnLearning) {
  expect_end_without(0, "1");
  const auto summary = nlohmann::json::parse(slurp(path("run/summary.json")));
  EXPECT_GT(summary.at("accuracy").get<double>(), 0.9) << out();
}

INSTANTIATE_TEST_SUITE_P(Strategies, WithoutTheirServer,
                         ::testing::Values("asgd:servers=1", "easgd:servers=1",
                                           "asgd:servers=1 --bucket 65536"),
                         name_of);

TEST_F(LostPeers, AStrategyThatNeedsAllEndsWhateverTheLauncherAllows) {
  train("");
  Running launch(folder(), {"-n", "4", "--may-lose", "1", "--grace", "50", "--", "./rank"});
  kill(victim(), SIGKILL);
  EXPECT_EQ(launch.wait(), 3);
  expect_all_name_rank_two();
}

TEST_F(LostPeers, ALauncherThatIsKilledLeavesAnAccount) {
  train("--out run --log-every 1");
  Running launch(folder(), job("50"));
  victim();
  launch.signal(SIGKILL);
  EXPECT_EQ(launch.wait(), 128 + SIGKILL);
  ASSERT_TRUE(eventually([&] { return fs::exists(path("run/summary.json")); }));
  const auto summary = nlohmann::json::parse(slurp(path("run/summary.json")));
  EXPECT_NE(summary.at("status"), "finished");
  EXPECT_GT(summary.at("steps"), 0);
  for (const pid_t pid : pids_in({"pid.0", "pid.1", "pid.2", "pid.3"}))
    EXPECT_TRUE(eventually([&] { return !lives(pid); }));
}

TEST_F(LostPeers, AnInterruptedRunSaysWhoseFiguresItPrints) {
  train("--out run --log-every 1");
  Running launch(folder(), job("50"));
  victim();
  ASSERT_TRUE(
      eventually([&] { return slurp(path("run/run.jsonl")).find("steps_done") != std::string::npos; }));
  launch.signal(SIGINT);
  EXPECT_EQ(launch.wait(), 130) << err();
  EXPECT_NE(
      out().find("[0] status          interrupted\n[0] figures         of rank 0 alone, up to its step "),
      std::string::npos)
      << out() << err();
  EXPECT_NE(out().find(" messages, of this worker alone"), std::string::npos) << out();
  EXPECT_EQ(nlohmann::json::parse(slurp(path("run/summary.json"))).at("only_rank"), 0);
}

TEST_F(LostPeers, RankZeroDecidesWhetherAFolderMayBeOverwritten) {
  fs::create_directories(path("run"));
  std::ofstream(path("run/summary.json")) << "{}";
  ranks_do("'" TACIT_PROGRAM
           "' train --model mlp --data synthetic --steps 3 --out run\necho $? >code.$TACIT_RANK");
  tacit("launch -n 2 -- ./rank");
  EXPECT_NE(err().find("[0] tacit: run has the account of another run"), std::string::npos) << err();
  EXPECT_EQ(slurp(path("code.0")), "2\n");
  EXPECT_EQ(slurp(path("code.1")), "3\n") << err();
  EXPECT_EQ(slurp(path("run/summary.json")), "{}");
}

TEST_F(LostPeers, EveryRankOfARunThatDivergedSaysSo) {
  for (const char* bucket : {"whole", "1KiB"}) {
    ranks_do("'" TACIT_PROGRAM
             "' train --model mlp:hidden=8 --data synthetic:samples=320,test=64,size=8 --batch 8 --lr 5 "
             "--optimizer sgd --steps 60 --bucket " +
             std::string(bucket) + "\necho $? >code.$TACIT_RANK");
    tacit("launch -n 3 -- ./rank");
    for (const char* code : {"code.0", "code.1", "code.2"})
      EXPECT_EQ(slurp(path(code)), "1\n") << code << ", --bucket " << bucket << err();
  }
}

TEST_F(LostPeers, WhatARankStartedHasNothingOfItsAndDoesNotHideItsDeath) {
  ranks_do("echo $$ >pid.$TACIT_RANK; exec '" TACIT_RANK_WITH_CHILD "'");
  Running launch(folder(), {"-n", "2", "--grace", "50", "--", "./rank"});
  const std::vector<pid_t> left = pids_in({"left.0", "left.1"});
  kill_in("pid.1");
  EXPECT_EQ(launch.wait(), 3) << err();
  EXPECT_NE(err().find("rank 0 lost rank 1: "), std::string::npos) << err();
  EXPECT_EQ(err().find("nothing was heard of it"), std::string::npos)
      << err();  // its connection ended with it
  for (const pid_t pid : left) kill(pid, SIGKILL);
  for (const char* name : {"fds.0", "fds.1"})
    for (const std::string& line : sorted_lines(slurp(path(name)))) {
      if (line.find(" -> ") == std::string::npos) continue;
      const std::string number = line.substr(line.rfind(' ', line.find(" -> ") - 1) + 1);
      EXPECT_LE(std::stoi(number), STDERR_FILENO) << name << ": " << line;
    }
}

// Ranks that serve shards wait for each other and for themselves.
class NeedsAll : public LostPeers, public ::testing::WithParamInterface<const char*> {};

TEST_P(NeedsAll, ARankThatIsKilledIsNamedByAllOthers) {
  train(std::string("--strategy ") + GetParam());
  Running launch(folder(), job("50"));
  kill(victim(), SIGKILL);
  EXPECT_EQ(launch.wait(), 3);
  expect_all_name_rank_two();
}

INSTANTIATE_TEST_SUITE_P(Strategies, NeedsAll,
                         ::testing::Values("ssgd:servers=4", "ssd:warmup=1000000", "ssd:warmup=0", "compskip",
                                           "dc_s3gd"),
                         name_of);

TEST_F(LostPeers, ThreadsAndProcessesEndWithTheSameWeights) {
  const std::string args = "train --model mlp --data synthetic --steps 40 --seed 3 --quiet --json";
  const std::string threads = json(args + " --workers 4").at("weights_hash");
  for (const char* how : {"", "--insecure-plaintext "}) {
    const Result r = tacit(std::string("launch -n 4 --no-prefix ") + how + "-- '" TACIT_PROGRAM "' " + args);
    ASSERT_EQ(r.code, 0) << r.err;
    const auto summary = nlohmann::json::parse(r.out);
    EXPECT_EQ(summary.at("weights_hash"), threads);
    EXPECT_EQ(summary.at("world"), *how == '\0' ? "tcp+tls" : "tcp");
  }
}

TEST_F(LostPeers, ThreadsAndProcessesEndWithTheSameWeightsWhateverIsExchanged) {
  for (const char* what : {"--compress onebit,ef", "--compress topk:ratio=0.02,ef", "--compress powersgd,ef",
                           "--strategy dc_s3gd", "--strategy ssd:warmup=5,delay=3", "--strategy compskip"}) {
    const std::string args =
        "train --model mlp --data synthetic --steps 15 --seed 3 --quiet --json " + std::string(what);
    const auto threads = json(args + " --workers 3");
    const Result r = tacit("launch -n 3 --no-prefix --insecure-plaintext -- '" TACIT_PROGRAM "' " + args);
    ASSERT_EQ(r.code, 0) << r.err;
    const auto summary = nlohmann::json::parse(r.out);
    EXPECT_EQ(summary.at("weights_hash"), threads.at("weights_hash")) << what;
    EXPECT_EQ(summary.at("bytes_payload"), threads.at("bytes_payload")) << what;
  }
}

}  // namespace
}  // namespace tacit::test
