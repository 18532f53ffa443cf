// SPDX-License-Identifier: MIT
// Samples that are dealt out to ranks once, so that ranks see data that are not alike: docs/shards.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/registry.h"
#include "tacit/runlog/events.h"
#include "tacit/train/dataset.h"

namespace tacit {

// How samples are dealt out.
struct Sharding {
  enum class Kind { kIid, kClasses, kDirichlet };

  // `iid`, `classes:2`, `dirichlet:0.1`. Throws InvalidConfig.
  static Sharding parse(std::string_view text);
  bool iid() const { return kind == Kind::kIid; }

  std::string text;  // as the user wrote it
  Kind kind = Kind::kIid;
  std::int64_t classes = 0;  // of a rank
  double alpha = 0;
};

struct ShardingInfo {
  std::string name;
  std::string summary;
  std::string paper;
  std::string example;              // as a user writes it
  std::vector<OptionInfo> options;  // what stands behind the colon
  Sharding::Kind kind;
};

const Registry<ShardingInfo>& builtin_shardings();

// The samples of one rank, ascending.
using Shard = std::vector<std::uint32_t>;

// One shard per rank; each sample is in exactly one. Depends on what is given here and on nothing else, and is the same on
// every machine. Not for iid, which has no shards. Throws InvalidConfig where a rank would have no sample, or a class no
// rank.
std::vector<Shard> deal_samples(const Sharding& how, std::span<const std::uint32_t> labels, int ranks,
                                std::uint64_t seed);

ShardSpread spread_of(std::span<const Shard> shards, std::span<const std::uint32_t> labels);

// One rank's minibatches, from its own samples alone: it goes through them in the order of (seed, rank, pass), and then
// again, in another order. A minibatch may have the end of one pass and the beginning of the next.
//
// Threads  one.
class ShardSampler {
 public:
  struct Place {
    int rank;
    std::uint64_t seed;
  };
  ShardSampler(Shard samples, std::size_t batch, const Place& place);

  // The indices for a step of the run (from 0). Depends on the step alone, whatever was asked for before. The span lives
  // until the next call.
  std::span<const std::uint32_t> indices(std::int64_t step);
  // The same, with what is drawn by seed and pass: that in which the minibatch begins. Lives as long.
  Wanted wanted(std::int64_t step);

 private:
  void take_order_of(std::int64_t pass);

  const Shard samples_;
  const Place place_;
  std::vector<std::uint32_t> batch_;
  std::int64_t pass_ = -1;
  Shard order_;
};

}  // namespace tacit
