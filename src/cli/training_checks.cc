// SPDX-License-Identifier: MIT
// What of a run can be refused before its ranks are made.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/training.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/dataset.h"
#include "tacit/train/trainer.h"
#include "train/cost.h"
#include "train/data/shards.h"
#include "train/optimizer.h"
#include "train/readiness.h"
#include "train/schedule.h"

namespace tacit::cli {
namespace {

constexpr std::int64_t kLargestBatch = 1'000'000'000;

struct Count {
  const char* option;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

}  // namespace

void check(const TrainSettings& s) {
  check_counts(s.train);
  if (s.train.target && !(*s.train.target > 0 && *s.train.target <= 1))
    throw InvalidConfig(fmt::format(
        "the target {} is no accuracy; give more than 0 and at most 1, such as 0.88", *s.train.target));
  if (!(s.train.lr > 0) || !std::isfinite(s.train.lr))
    throw InvalidConfig(fmt::format("--lr {} does not train; give a positive number", s.train.lr));
  bucket_floats("--bucket", s.train.bucket, 1, builtin_strategies().find(s.train.strategy), false);
  make_optimizer(s.train.optimizer);
  make_schedule(s.train.schedule);
  Sharding::parse(s.train.shards);
}

void check_counts(const TrainOptions& o) {
  for (const auto& [option, value, least, most] :
       {Count{"--batch", o.batch, 1, kLargestBatch}, Count{"--epochs", o.epochs, 1, kMostSteps},
        Count{"--steps", o.steps, 0, kMostSteps}, Count{"--log-every", o.log_every, 1, kMostSteps},
        Count{"--evaluate-every", o.evaluate_every, 0, kMostSteps}}) {
    if (value < least)
      throw InvalidConfig(fmt::format("{} {} is too small; give {} or more", option, value, least));
    if (value > most)
      throw InvalidConfig(fmt::format("{} {} is too large; give {} or less", option, value, most));
  }
}

void check_names(const TrainSettings& s) {
  const std::string model = Spec::parse(s.model).name;
  const std::vector<std::string> known = all_models(1).names();
  const bool trains = std::any_of(known.begin(), known.end(),
                                  [&](const std::string& each) { return canonical(each) == model; });
  for (const NamedSize& each : named_sizes())
    if (canonical(each.name) == model && !trains)
      throw InvalidConfig(fmt::format(
          "the model {} is known by its size alone, to tacit simulate --cost-only; to train, give one of {}",
          each.name, fmt::join(known, ", ")));
  all_models(1).find(s.model);
  builtin_datasets().find(s.data);
}

std::optional<ShardSpread> spread_among(const TrainOptions& o, const Dataset& data, int workers) {
  const Sharding how = Sharding::parse(o.shards);
  if (how.iid()) return std::nullopt;
  const std::vector<std::uint32_t> labels = data.samples->labels();
  return spread_of(deal_samples(how, labels, workers, o.seed), labels);
}

DataPair load_for(const TrainSettings& s, int workers) {
  check_compression(s.train, builtin_strategies(), workers);
  DataPair data = load_dataset(s.data);
  total_steps(s.train, data.train.size(), workers);
  spread_among(s.train, data.train, workers);
  return data;
}

}  // namespace tacit::cli
