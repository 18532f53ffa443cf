// SPDX-License-Identifier: MIT
// This rank's share of the data, for torch::data::make_data_loader.
#pragma once

#include <torch/data/samplers/base.h>

#include <cstdint>
#include <vector>

#include "tacit/train/dataset.h"
#include "tacit/world/world.h"

namespace tacit::torch {

// Every epoch all ranks shuffle the samples alike, from one seed, and each takes every size()-th of them: no two ranks
// see the same sample, and all together see all. A batch of b on each rank is a global batch of b * size() that depends
// on nothing else (train/dataset.h has the order).
//
//   auto loader = torch::data::make_data_loader(data, tacit::torch::RankSampler(me, *data.size()), 64);
//   for (int epoch = 0; epoch < 10; ++epoch)
//     for (auto& batch : *loader) ...  // another shuffle in each epoch, without being told
//
// A world that has lost ranks goes on without their shares.
//
// Threads  one at a time. All ranks are given the same number of samples and the same options.
// Errors   InvalidConfig where there are fewer samples than ranks, or 2^32 and more.
class RankSampler : public ::torch::data::samplers::Sampler<> {
 public:
  // What happens to the samples that are left over where the ranks do not divide them.
  enum class Rest {
    kDrop,  // left out in that epoch: every rank has as many samples, and so as many steps
    kKeep,  // the first ranks have one more; then the numbers of steps may differ: Options::uneven of Replicated
  };
  struct Options {
    std::uint64_t seed = 1;  // the same on every rank: not me.seed(n)
    Rest rest = Rest::kDrop;
  };

  RankSampler(const Process& me, std::size_t samples);
  RankSampler(const Process& me, std::size_t samples, const Options& options);

  // The epoch that the next reset() begins, from 0; each one after it goes to the next by itself. To go on with a run
  // that was saved. A data loader has a copy of the sampler, so set it before.
  void set_epoch(std::int64_t epoch);
  // That which next() draws from.
  std::int64_t epoch() const { return epoch_; }
  // Of this rank in an epoch.
  std::size_t samples() const;

  // Begins the next epoch, the first time the first. A data loader does this for each loop over it.
  void reset(::torch::optional<std::size_t> new_size = ::torch::nullopt) override;
  // Nothing where the epoch is over.
  ::torch::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;

  // Where it is. One that was loaded goes on from there: its first reset() does not begin another epoch, unless that one
  // was over.
  void save(::torch::serialize::OutputArchive& archive) const override;
  void load(::torch::serialize::InputArchive& archive) override;

 private:
  std::size_t rank_;
  std::size_t ranks_;
  std::size_t total_;
  Options options_;
  tacit::Sampler order_;
  std::int64_t epoch_ = 0;
  std::size_t drawn_ = 0;  // by this rank in this epoch
  bool begun_ = false;     // the next reset() goes to another epoch
};

}  // namespace tacit::torch
