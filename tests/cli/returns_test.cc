// SPDX-License-Identifier: MIT
// Ranks of a real run that are killed, started again by tacit launch, and take part again.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "support/launch.h"

namespace tacit::test {
namespace {

class Returns : public Launch, public ::testing::WithParamInterface<const char*> {
 protected:
  std::size_t count(const std::string& words) {
    const std::string said = err();
    std::size_t times = 0;
    for (std::size_t at = said.find(words); at != std::string::npos; at = said.find(words, at + 1)) ++times;
    return times;
  }
  // Kills these ranks, each once the one before is back, and waits for the end. Where that came too early, also for what
  // `enough` asks for, the same again with more epochs.
  void train_and_kill(
      const std::vector<int>& ranks, const std::string& options,
      const std::function<bool()>& enough = [] { return true; }) {
    for (int epochs = 2;; epochs *= 4) {
      ASSERT_LT(epochs, 1'000'000) << err();
      for (int rank = 0; rank < 4; ++rank) fs::remove(path("pid." + std::to_string(rank)));
      ranks_do("echo $$ >pid.$TACIT_RANK\nexec '" TACIT_PROGRAM
               "' train --model mlp --data synthetic --batch 8 --out run --overwrite --strategy " +
               std::string(GetParam()) + " --epochs " + std::to_string(epochs) + " " + options);
      Running job(folder(), {"-n", "4", "--restart", "10", "--", "./rank"});
      if (kill_all(ranks)) {
        EXPECT_EQ(job.wait(), 0) << err();
        if (HasFailure() || enough()) return;
      }
      job.wait();
    }
  }
  // Of the last rank that came back, as another noticed it.
  std::int64_t step_of_return() {
    std::int64_t step = 0;
    std::ifstream log(path("run/run.jsonl"));
    for (std::string line; std::getline(log, line);)
      if (const auto event = nlohmann::json::parse(line); event.at("event") == "rank_back")
        step = event.at("step");
    return step;
  }

 private:
  bool kill_all(const std::vector<int>& ranks) {
    pids_in({"pid.0", "pid.1", "pid.2", "pid.3"});
    EXPECT_TRUE(err_says("[0] epoch 1.00")) << err();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      kill_in("pid." + std::to_string(ranks[i]));
      EXPECT_TRUE(eventually([&] {
        return count(" is back\n") > i || out().find("status  ") != std::string::npos;
      })) << err();
      if (count(" is back\n") <= i) return false;
    }
    return true;
  }
};

TEST_P(Returns, ARankThatIsKilledTakesPartAgainAndAllFinishWithEqualWeights) {
  train_and_kill({2}, "");
  EXPECT_NE(out().find("[0] status          finished"), std::string::npos) << out() << err();
  EXPECT_NE(out().find("4 of 4 workers finished"), std::string::npos) << out() << err();
  EXPECT_NE(
      err().find("rank 2 was killed by signal 9 (Killed); the others go on without it, and it is started "
                 "again (1 of 10)"),
      std::string::npos)
      << err();
  const std::string log = slurp(path("run/run.jsonl"));
  EXPECT_NE(log.find("\"event\":\"rank_lost\",\"rank\":2"), std::string::npos);
  EXPECT_NE(log.find("\"event\":\"rank_back\",\"rank\":2"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Returns, ::testing::Values("gossip", "wagma", "asgd", "easgd"),
                         [](const auto& param) { return std::string(param.param); });

using ReturnsOfAll = Returns;

TEST_P(ReturnsOfAll, ARankWithSamplesOfItsOwnTakesPartAgain) {
  train_and_kill({2}, "--shards classes:3");
  EXPECT_NE(out().find("4 of 4 workers finished"), std::string::npos) << out() << err();
  EXPECT_NE(out().find("[0] shards          classes:3: "), std::string::npos) << out();
}

TEST_P(ReturnsOfAll, RankZeroMayComeBackAndOthersAfterIt) {
  train_and_kill({0, 3, 0}, "");
  EXPECT_NE(out().find("4 of 4 workers finished"), std::string::npos) << out() << err();
  EXPECT_EQ(out().find("status  "), out().rfind("status  ")) << "one of them reports\n" << out();
}

INSTANTIATE_TEST_SUITE_P(Strategies, ReturnsOfAll, ::testing::Values("gossip", "asgd"),
                         [](const auto& param) { return std::string(param.param); });

using ReturnsWithCheckpoints = Returns;

TEST_P(ReturnsWithCheckpoints, ARankThatIsBackTakesPartInTheNextOnes) {
  fs::path newest;
  const auto one_came_later = [&] {
    newest.clear();
    for (const auto& each : fs::directory_iterator(path("saved")))
      if (newest.empty() || each.path().filename() > newest.filename()) newest = each.path();
    const std::string name = newest.filename();  // step-000000000050
    return !newest.empty() && std::stoll(name.substr(name.find('-') + 1)) > step_of_return();
  };
  train_and_kill({0}, "--checkpoint saved --checkpoint-every 50 --keep 64", one_came_later);
  EXPECT_NE(out().find("4 of 4 workers finished"), std::string::npos) << out() << err();
  EXPECT_EQ(err().find("no checkpoint after step"), std::string::npos) << err();
  // The last one was made by all.
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(fs::exists(newest / ("rank-" + std::to_string(rank) + ".state"))) << newest;
}

INSTANTIATE_TEST_SUITE_P(Strategies, ReturnsWithCheckpoints, ::testing::Values("gossip"),
                         [](const auto& param) { return std::string(param.param); });

TEST_F(Launch, AStrategyThatNeedsAllItsRanksIsNotStartedAgainInPart) {
  ranks_do("echo $$ >pid.$TACIT_RANK\nexec '" TACIT_PROGRAM
           "' train --model mlp --data synthetic --steps 100000000 --batch 8");
  Running job(folder(), {"-n", "2", "--restart", "3", "--grace", "50", "--", "./rank"});
  pids_in({"pid.0", "pid.1"});
  ASSERT_TRUE(err_says("[0] epoch 1.00")) << err();
  kill_in("pid.1");
  EXPECT_EQ(job.wait(), 3) << err();
  EXPECT_EQ(err().find("started again"), std::string::npos) << err();
}

}  // namespace
}  // namespace tacit::test
