// SPDX-License-Identifier: MIT
// A run that is saved, ends, and is gone on with by another.
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "checkpoint/state_file.h"
#include "checkpoint/store.h"
#include "support/refusal.h"
#include "support/strategy_worlds.h"
#include "support/temp_dir.h"
#include "support/train.h"
#include "support/whole_files.h"
#include "train/model_file.h"

namespace tacit::test {
namespace {

namespace fs = std::filesystem;

class Told final : public NoObserver {
 public:
  void on_warning(const std::string& what) override {
    const std::lock_guard lock(mutex_);
    warnings.push_back(what);
  }
  void on_resume(const RunResumed& event) override { resumed.push_back(event); }
  std::vector<std::string> warnings;
  std::vector<RunResumed> resumed;

 private:
  std::mutex mutex_;
};

TrainCase case_of(const std::string& strategy) {
  TrainCase c;
  c.strategy = strategy;
  c.ranks = 3;
  c.steps = 19;
  c.global_batch = 60;
  c.optimizer = "sgd:momentum=0.9";
  c.lr = 0.02;
  return c;
}

TrainCase saving(TrainCase c, const fs::path& folder, std::int64_t every = 5) {
  c.checkpoint.folder = folder.string();
  c.checkpoint.every = every;
  c.checkpoint.keep = 8;
  return c;
}

TrainCase resuming(TrainCase c, const fs::path& from) {
  c.checkpoint.resume = from.string();
  return c;
}

fs::path at(const fs::path& folder, std::int64_t step) { return CheckpointStore(folder).place(step); }

// Every strategy whose runs do not depend on who is faster, in every world: saved after 5, 10 and 15 steps.
TEST(Checkpoints, AResumedRunEndsWithTheBitsOfOneThatWasNotStopped) {
  struct How {
    const char* strategy;
    const char* compress = "";
  };
  for (const StrategyWorld& kind : strategy_worlds()) {
    if (!kind.built()) continue;
    for (const auto& [strategy, compress] :
         {How{"ssgd"}, How{"ssgd:servers=2"}, How{"ssgd", "topk:ratio=0.1,ef"}, How{"local:period=4"},
          How{"ssd:delay=3"}, How{"compskip"}, How{"dc_s3gd"}, How{"slowmo:period=4"}, How{"diloco:period=4"},
          How{"dpsgd"}, How{"sgp"}}) {
      SCOPED_TRACE(kind.name + " " + strategy + " " + compress);
      const TempDir folder;
      TrainCase plain = case_of(strategy);
      plain.compress = compress;
      const auto hash = [&](const TrainCase& c) {
        return kind.open(c.ranks, Pace::kSteady, [&](const OpenWorld& world) {
          return train_by([&](const ProcessBody& body) { world.run(body); }, c).summary.weights_hash;
        });
      };
      const std::string whole = hash(plain);
      EXPECT_EQ(whole.size(), 16U);
      EXPECT_EQ(hash(saving(plain, folder.path())), whole);  // saving changes nothing
      for (const std::int64_t step : {5, 15})
        EXPECT_EQ(hash(resuming(plain, at(folder.path(), step))), whole) << step;
    }
  }
}

TEST(Checkpoints, AResumedRunDrawsOnFromItsOwnShard) {
  for (const char* shards : {"classes:2", "dirichlet:0.3"})
    for (const char* strategy : {"ssgd", "local:period=4"}) {
      const TempDir folder;
      TrainCase c = case_of(strategy);
      c.shards = shards;
      const std::string whole = train(c).summary.weights_hash;
      EXPECT_EQ(train(saving(c, folder.path())).summary.weights_hash, whole);
      for (const std::int64_t step : {5, 15})
        EXPECT_EQ(train(resuming(c, at(folder.path(), step))).summary.weights_hash, whole)
            << shards << ", " << strategy << " from " << step;
    }
}

TEST(Checkpoints, WithAnotherNumberOfRanksSamplesAreDealtOutAnewAndThatIsSaid) {
  const TempDir folder;
  TrainCase c = case_of("ssgd");
  c.shards = "classes:2";
  train(saving(c, folder.path()));
  Told told;
  c.ranks = 2;
  c.observer = &told;
  EXPECT_EQ(train(resuming(c, at(folder.path(), 15))).summary.steps, 19);
  ASSERT_EQ(told.resumed.size(), 1U);
  expect_parts(told.resumed[0].dropped, {"of 3 ranks", "dealt out anew among 2 ranks"});
}

TEST(Checkpoints, WhatARunHasCountedGoesOnToo) {
  const TempDir folder;
  const TrainCase plain = case_of("ssgd");
  const Summary whole = train(plain).summary;
  train(saving(plain, folder.path()));
  Told told;
  TrainCase c = resuming(plain, folder.path());  // the newest
  c.observer = &told;
  const Summary resumed = train(c).summary;
  EXPECT_EQ(resumed.steps, whole.steps);
  EXPECT_EQ(resumed.bytes_payload, whole.bytes_payload);
  EXPECT_EQ(resumed.messages, whole.messages);
  EXPECT_EQ(resumed.loss, whole.loss);
  EXPECT_EQ(resumed.accuracy, whole.accuracy);
  EXPECT_EQ(resumed.weights_hash, whole.weights_hash);
  ASSERT_EQ(told.resumed.size(), 1U);
  EXPECT_EQ(told.resumed[0].step, 15);
  EXPECT_EQ(told.resumed[0].dropped, "");
}

TEST(Checkpoints, AResumedRunSavesOnAndKeepsTheNewest) {
  const TempDir folder;
  TrainCase c = saving(case_of("ssgd"), folder.path());
  c.steps = 11;
  train(c);
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::int64_t>{10, 5}));
  c.steps = 22;
  c.checkpoint.keep = 2;
  train(resuming(c, folder.path()));
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::int64_t>{20, 15}));
}

TEST(Checkpoints, TheModelInOneIsThatOfARunWhichEndsThere) {
  for (const char* strategy : {"ssgd", "local:period=4", "ssd:delay=3"}) {
    const TempDir folder;
    TrainCase c = case_of(strategy);
    train(saving(c, folder.path()));
    c.steps = 15;
    const auto model = make_model(builtin_models(), c.model, test_context(9));
    load_model(at(folder.path(), 15) / kModelFile, *model);
    const auto saved = model->params().host();
    expect_near({saved.begin(), saved.end()}, train(c).params[0], 1e-6F);
  }
}

TEST(Checkpoints, WithAnotherNumberOfRanksTheMeanModelGoesOn) {
  const TempDir folder;
  TrainCase c = saving(case_of("ssgd"), folder.path());
  train(c);
  for (const int ranks : {1, 2, 5}) {
    Told told;
    TrainCase other = resuming(case_of("wagma"), at(folder.path(), 15));
    other.ranks = ranks;
    other.strategy = ranks == 1 ? "ssgd" : "wagma:group=2";
    other.observer = &told;
    const Trained trained = train(other);
    EXPECT_EQ(trained.summary.steps, 19) << ranks;
    ASSERT_EQ(told.resumed.size(), 1U);
    EXPECT_EQ(told.resumed[0].step, 15);
    expect_parts(told.resumed[0].dropped, {"3 ranks", "mean model", "dropped"});
    EXPECT_LT(trained.first_loss, 1.0);  // untrained: log 4
  }
}

TEST(Checkpoints, WhatCannotBeGoneOnWithIsRefused) {
  const TempDir folder;
  const fs::path place = at(folder.path(), 15);
  const TrainCase plain = case_of("ssgd");
  const auto resume = [&](const fs::path& from, TrainCase c) { return [=] { train(resuming(c, from)); }; };
  expect_refusal(resume(folder.path(), plain), {"no whole checkpoint", "--checkpoint"});
  expect_refusal(resume(folder.path() / "none", plain), {"none is missing"});
  train(saving(plain, folder.path()));
  TrainCase done = plain;
  done.steps = 15;
  expect_refusal(resume(place, done), {"15 steps done", "nothing is left"});
  TrainCase wider = plain;
  wider.model = "mlp:hidden=10";
  expect_refusal(resume(place, wider), {"params"});
  wider.ranks = 2;
  expect_refusal(resume(place, wider), {"hidden.weight", "9 x 64", "10 x 64"});
  const fs::path state = place / state_file_name(1);
  const std::string whole = bytes_in(state);
  put(state, whole.substr(0, whole.size() / 2));
  expect_refusal(resume(place, plain), {"rank-1.state", "cut short"});
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] ^ 1);
  put(state, changed);
  expect_refusal(resume(place, plain), {"rank-1.state", "damaged"});
  fs::copy_file(place / state_file_name(2), state, fs::copy_options::overwrite_existing);
  expect_refusal(resume(place, plain), {"rank-1.state", "another"});
  fs::remove(state);
  expect_refusal(resume(place, plain), {"rank-1.state is missing"});
  put(place / Manifest::kName, "{}");
  expect_refusal(resume(place, plain), {"manifest.json", "damaged"});
}

// The folder is taken away in the middle: ranks cannot write where there is a file in its place.
TEST(Checkpoints, ARunGoesOnWithoutADiskAndSaysSo) {
  const TempDir folder;
  const fs::path place = folder.path() / "checkpoints";
  class Saboteur final : public NoObserver {
   public:
    explicit Saboteur(fs::path place) : place_(std::move(place)) {}
    void on_evaluation(const Evaluated& event) override {
      if (event.step > 16) return;
      fs::rename(place_, place_.string() + ".away");
      put(place_, "in the way");
    }
    void on_warning(const std::string& what) override { warnings.push_back(what); }
    std::vector<std::string> warnings;

   private:
    fs::path place_;
  };
  Saboteur saboteur(place);
  TrainCase c = saving(case_of("ssgd"), place, 4);
  c.steps = 31;
  c.observer = &saboteur;
  EXPECT_EQ(train(c).summary.weights_hash, [&] {
    TrainCase undisturbed = c;
    undisturbed.checkpoint = {};
    undisturbed.observer = nullptr;
    return train(undisturbed).summary.weights_hash;
  }());
  ASSERT_GE(saboteur.warnings.size(), 3U);
  expect_parts(saboteur.warnings.back(),
               {"no checkpoint after step 28", "cannot", "the run goes on", "that after step"});
}

}  // namespace
}  // namespace tacit::test
