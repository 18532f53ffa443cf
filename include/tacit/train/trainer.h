// SPDX-License-Identifier: MIT
// The training loop of `tacit train`. Programs with a loop of their own use the strategies directly
// (examples/) or tacit::torch::Replicated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tacit/runlog/events.h"
#include "tacit/strategy/registry.h"
#include "tacit/train/dataset.h"
#include "tacit/train/model.h"
#include "tacit/train/rank_report.h"
#include "tacit/world/world.h"

namespace tacit {

// Where a run is saved so that another can go on with it (docs/checkpoints.md).
struct CheckpointOptions {
  std::string folder;      // empty: it is not
  std::int64_t every = 0;  // steps; 0: by minutes
  double minutes = 0;
  int keep = 2;  // the newest of them
  std::string
      resume;  // a checkpoint, or a folder of them, whose newest it goes on from; empty: it begins anew
  // What the run was told, as its user knows it, beside what ranks are: each difference from a checkpoint is refused.
  std::vector<std::pair<std::string, std::string>> settings{};
};

struct TrainOptions {
  std::string strategy = "ssgd";
  std::string compress;  // `topk:ratio=0.01,ef`; empty: nothing is compressed
  std::string optimizer = "sgd:momentum=0.9";
  std::string schedule = "constant";
  // What of a gradient is exchanged while the rest is computed, by strategies that can: `256KiB`; `whole`: nothing;
  // `auto`: a size, where that pays.
  std::string bucket = "auto";
  std::int64_t batch = 32;  // per worker
  // Which samples a rank has: `iid`: all, as all others; `classes:2`, `dirichlet:0.1`: docs/shards.md.
  std::string shards = "iid";
  double lr = 0.02;
  std::uint64_t seed = 1;
  std::int64_t epochs = 1;
  std::int64_t steps = 0;  // in place of epochs, where not 0
  std::int64_t log_every = 10;
  std::int64_t evaluate_every = 0;  // beside the ends of epochs, where not 0
  std::optional<double> target{};   // test accuracy whose time is wanted: evaluations are closer near it
  CheckpointOptions checkpoint{};
};

// Told what happens as it happens. Threads: called by all ranks, at any time.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_steps(const StepsDone& event) = 0;
  virtual void on_evaluation(const Evaluated& event) = 0;  // these: by the lowest rank that lives, alone
  virtual void on_loss(const RankLost&) {}
  virtual void on_return(const RankBack&) {}
  virtual void on_warning(const std::string&) {}
  virtual void on_resume(const RunResumed&) {}  // by the lowest rank
};

// What all ranks share, read-only.
struct TrainJob {
  const DataPair& data;
  const StrategyRegistry& strategies;
  std::function<std::unique_ptr<Model>()> make_model;  // called by every rank; must give equal weights
  TrainOptions options;
  TrainObserver& observer;
  std::function<bool()> stop;  // asked before every step; true ends the run with Interrupted
  // At the end, by the lowest rank that lives: the model as it was trained.
  std::function<void(Model&)> on_model{};
  // What files of the model say of it, beside its tensors.
  std::map<std::string, std::string> about_model{};
};

// Refuses a compressor that the strategy or the optimiser makes senseless. Throws InvalidConfig.
void check_compression(const TrainOptions& options, const StrategyRegistry& strategies, int ranks);

// No run has more steps: what counts samples, milliseconds or bytes of one does not overflow.
constexpr std::int64_t kMostSteps = 1'000'000'000'000;

// The number of steps that the options ask for. Throws InvalidConfig where no batch fits into the data, and for more than
// kMostSteps.
std::int64_t total_steps(const TrainOptions& options, std::size_t samples, int ranks);

// Trains one rank to the end. The body of World::run; report is written as the run goes on.
void train_rank(Process& me, const TrainJob& job, RankReport& report);

// Whether all ranks ended with the same weights, as they must once a strategy has finished.
bool all_equal(std::span<const RankReport> reports);

// The reports there are as one: of all ranks that finished, or of this process's where it lost the others.
Summary summarize(const TrainOptions& options, std::span<const RankReport> reports,
                  const std::string& status);

// What a rank did with its time.
RankTimes times_of(const RankReport& report);

}  // namespace tacit
