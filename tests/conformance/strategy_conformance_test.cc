// SPDX-License-Identifier: MIT
// What every registered strategy must do, in every world and form (strategy_forms.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "conformance/strategy_forms.h"
#include "core/hash.h"
#include "support/replicas.h"
#include "support/survival.h"
#include "support/train.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

// What a rank has at certain moments, by name and to the bit.
using Notes = std::map<std::string, std::string>;
using AllNotes = std::vector<Notes>;  // by rank

std::string bits_of(ConstFloatView x) {
  const ConstBytes bytes = bytes_of(x);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string text_of(const Traffic& sent) {
  return std::to_string(sent.payload) + " bytes in " + std::to_string(sent.messages) + " messages";
}

// One rank of a run.
class RankRun {
 public:
  RankRun(Process& me, const ReplicaCase& how, Notes& notes)
      : me_(me),
        notes_(notes),
        replica_(me, how),
        strategy_(make_strategy(builtin_strategies(), how.strategy, me.size(), how.compress)) {
    notes_["first"] = bits_of(replica_.params());
    replica_.set_pieces(strategy_->pieces(me.size()));
    strategy_->start(replica_);
  }
  void take_steps(std::int64_t from, std::int64_t to) {
    for (std::int64_t t = from; t < to; ++t) {
      replica_.set_t(t);
      if (replica_.pieces() == 0) {
        replica_.compute();
        me_.spend_compute(t);
      }
      strategy_->step(replica_);
    }
  }
  std::string model() {
    std::vector<float> out(replica_.params().size());
    strategy_->model(replica_, out);
    return bits_of(out);
  }
  std::string finish() {
    strategy_->finish(replica_);
    return bits_of(replica_.params());
  }
  void save(StateWriter& state) {
    replica_.save(state);
    strategy_->save(replica_, state);
  }
  void load(StateReader& state) {
    replica_.load(state);
    strategy_->load(replica_, state);
  }
  std::string sent() {
    const Ledger& ledger = me_.comm().ledger();
    Traffic all = ledger.sent(Tag::Lane::kTrain);
    all += ledger.sent(Tag::Lane::kBackground);
    return text_of(all);
  }

 private:
  Process& me_;
  Notes& notes_;
  Replica replica_;
  std::unique_ptr<Strategy> strategy_;
};

constexpr std::int64_t kSaved = 4;
constexpr std::int64_t kEvaluated = 6;
constexpr std::int64_t kLast = 9;

// From step `from` to the end, with a look at the model on the way.
void run_to_end(RankRun& run, std::int64_t from, const std::string& who, Notes& notes) {
  run.take_steps(from, kEvaluated);
  notes[who + " on the way"] = run.model();
  run.take_steps(kEvaluated, kLast);
  notes[who] = run.finish();
}

// A run that was saved and went on, and then one that goes on from what was saved. Both begin their second halves with
// all ranks together, as who is ahead of whom is not part of a state.
void save_and_resume(Process& me, const ReplicaCase& how, Notes& notes) {
  StateWriter saved;
  {
    RankRun run(me, how, notes);
    run.take_steps(0, kSaved);
    run.save(saved);
    me.control().barrier();
    run_to_end(run, kSaved, "whole", notes);
    notes["sent"] = run.sent();
    notes["afterwards"] = run.model();
    notes["sent afterwards"] = run.sent();
  }
  RankRun run(me, how, notes);
  StateReader state(saved.bytes());
  run.load(state);
  notes["state left"] = state.at_end() ? "nothing" : "something";
  me.control().barrier();
  run_to_end(run, kSaved, "resumed", notes);
}

AllNotes notes_of(const OpenWorld& world, const std::function<void(Process&, Notes&)>& script) {
  AllNotes all(static_cast<std::size_t>(world.ranks));
  world.run([&](Process& me) { script(me, all[static_cast<std::size_t>(me.rank())]); });
  return all;
}

std::vector<float> floats_of(const std::string& bits) {
  std::vector<float> values(bits.size() / sizeof(float));
  std::memcpy(values.data(), bits.data(), bits.size());
  return values;
}

class EveryStrategy : public StrategyInWorld {
 protected:
  ReplicaCase replicas(int ranks) const {
    return {.strategy = form().strategy,
            .ranks = ranks,
            .steps = kLast,
            .optimizer = "sgd:momentum=0.5",
            .compress = form().compress};
  }
};

// How fast ranks were so far is not part of a state either: for those that wait for nobody it stays the same.
TEST_P(EveryStrategy, EndsWithEqualWeightsAndResumesToTheBit) {
  const Pace pace = form().info().asynchronous ? Pace::kSteady : Pace::kUneven;
  for (const int ranks : kRankCounts)
    open(ranks, pace, [&](const OpenWorld& world) {
      const ReplicaCase how = replicas(ranks);
      const AllNotes all =
          notes_of(world, [&](Process& me, Notes& notes) { save_and_resume(me, how, notes); });
      for (Notes rank : all) {
        for (const char* what : {"whole", "whole on the way", "resumed", "resumed on the way"})
          EXPECT_TRUE(rank[what] == Notes(all[0])[what]) << what << " with " << ranks << " ranks";
        for (const float x : floats_of(rank["whole"])) ASSERT_TRUE(std::isfinite(x));
        EXPECT_FALSE(rank["whole"] == rank["whole on the way"]) << "no step changed anything";
        EXPECT_TRUE(rank["afterwards"] == rank["whole"]) << "the model after finish() is params()";
        EXPECT_EQ(rank["sent afterwards"], rank["sent"]) << "after finish() nothing is exchanged";
        EXPECT_EQ(rank["state left"], "nothing");
        if (GetParam().deterministic()) {
          EXPECT_TRUE(rank["resumed"] == rank["whole"]) << ranks << " ranks";
        }
      }
    });
}

TEST_P(EveryStrategy, WithALearningRateOfZeroKeepsTheStartWeights) {
  for (const int ranks : {1, 4, 5})
    open(ranks, Pace::kUneven, [&](const OpenWorld& world) {
      ReplicaCase how = replicas(ranks);
      how.lr = [](std::int64_t) { return 0.0F; };
      const AllNotes all = notes_of(world, [&](Process& me, Notes& notes) {
        RankRun run(me, how, notes);
        run_to_end(run, 0, "whole", notes);
      });
      const std::vector<float> start = floats_of(Notes(all[0])["first"]);
      for (Notes rank : all)
        for (const char* what : {"whole", "whole on the way"})
          expect_near(floats_of(rank[what]), start, 1e-5F);
    });
}

// One parameter leaves most ranks without a part of it; many do not fit into one message.
TEST_P(EveryStrategy, TakesOneParameterAndManyOfThem) {
  struct {
    int ranks;
    std::size_t parameters;
  } const sizes[] = {{5, 1}, {2, 100'001}};
  for (const auto& [ranks, parameters] : sizes)
    open(ranks, Pace::kUneven, [&](const OpenWorld& world) {
      ReplicaCase how = replicas(ranks);
      how.parameters = parameters;
      const AllNotes all = notes_of(world, [&](Process& me, Notes& notes) {
        RankRun run(me, how, notes);
        run.take_steps(0, 2);
        notes["model"] = run.model();
        notes["end"] = run.finish();
      });
      for (Notes rank : all)
        for (const char* what : {"model", "end"})
          EXPECT_TRUE(rank[what] == Notes(all[0])[what]) << what << " of " << parameters << " parameters";
    });
}

INSTANTIATE_TEST_SUITE_P(All, EveryStrategy, ::testing::ValuesIn(everywhere(all_forms())), test_name);

class EveryDeterministicStrategy : public EveryStrategy {};

TEST_P(EveryDeterministicStrategy, GivesTheSameBitsAndTraceForTheSameSeed) {
  const auto run = [&] {
    return ask(4, Pace::kUneven, [&](const OpenWorld& world) {
      const ReplicaCase how = replicas(4);
      const AllNotes all = notes_of(world, [&](Process& me, Notes& notes) {
        RankRun rank(me, how, notes);
        run_to_end(rank, 0, "whole", notes);
      });
      return hash_text(hash_bytes(std::as_bytes(std::span(Notes(all[3])["whole"])))) + world.trace();
    });
  };
  const std::string once = run();
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(once, run());
}

INSTANTIATE_TEST_SUITE_P(All, EveryDeterministicStrategy,
                         ::testing::ValuesIn(deterministic(everywhere(all_forms()))), test_name);

class EveryStrategyOverTcp : public EveryStrategy {};

TEST_P(EveryStrategyOverTcp, SendsTheBytesThatItSendsBetweenThreads) {
  for (const int ranks : {3, 4}) {
    if (!form().fits(ranks)) continue;
    const ReplicaCase how = replicas(ranks);
    const auto ends = [&](const std::string& where) {
      AllNotes all;
      strategy_world(where).open(ranks, Pace::kSteady, [&](const OpenWorld& world) {
        all = notes_of(world, [&](Process& me, Notes& notes) {
          RankRun run(me, how, notes);
          run_to_end(run, 0, "whole", notes);
          notes["sent"] = run.sent();
        });
        return "";
      });
      return all;
    };
    AllNotes threads = ends("threads");
    AllNotes tcp = ends("tcp");
    for (std::size_t rank = 0; rank < tcp.size(); ++rank) {
      EXPECT_EQ(tcp[rank]["sent"], threads[rank]["sent"]) << "rank " << rank << " of " << ranks;
      EXPECT_TRUE(tcp[rank] == threads[rank]) << "weights of rank " << rank << " of " << ranks;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryStrategyOverTcp,
                         ::testing::ValuesIn(deterministic(in_one("tcp", all_forms()))), test_name);

TEST(EveryStrategyThatSurvives, GoesOnWheneverARankCrashesAndSendsNoMoreForItsStepsWhileNoneDoes) {
  NEEDS_SIMULATOR;
  for (const StrategyInfo& info : builtin_strategies().all()) {
    if (!info.survives) continue;
    expect_survival(info.name);
    EXPECT_EQ(payload_sent(4, info.name, 8, 1000, true), payload_sent(4, info.name, 8, 1000, false))
        << info.name;
  }
}

}  // namespace
}  // namespace tacit::test
