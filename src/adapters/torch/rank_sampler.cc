// SPDX-License-Identifier: MIT
#include "tacit/torch/rank_sampler.h"

#include <torch/serialize/archive.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

// In batches of 1: what a batch is, is for the data loader to say.
Sampler order_of(std::size_t samples, std::size_t ranks, std::uint64_t seed) {
  if (samples > std::numeric_limits<std::uint32_t>::max())
    throw InvalidConfig(std::to_string(samples) +
                        " samples are more than a RankSampler can count, which is 2^32 - 1; "
                        "let a sample be several of your records");
  return Sampler(samples, 1, static_cast<int>(ranks), seed);
}

}  // namespace

RankSampler::RankSampler(const Process& me, std::size_t samples) : RankSampler(me, samples, Options{}) {}
RankSampler::RankSampler(const Process& me, std::size_t samples, const Options& options)
    : rank_(static_cast<std::size_t>(me.rank())),
      ranks_(static_cast<std::size_t>(me.size())),
      total_(samples),
      options_(options),
      order_(order_of(samples, ranks_, options.seed)) {}

void RankSampler::set_epoch(std::int64_t epoch) {
  if (epoch < 0) throw InvalidConfig("there is no epoch " + std::to_string(epoch) + "; they count from 0");
  epoch_ = epoch;
  drawn_ = 0;
  begun_ = false;
}

std::size_t RankSampler::samples() const {
  const bool one_more = options_.rest == Rest::kKeep && rank_ < total_ % ranks_;
  return total_ / ranks_ + (one_more ? 1 : 0);
}

void RankSampler::reset(::torch::optional<std::size_t> new_size) {
  if (new_size && *new_size != total_) {
    order_ = order_of(*new_size, ranks_, options_.seed);
    total_ = *new_size;
    drawn_ = 0;
  }
  if (begun_) ++epoch_;
  if (begun_) drawn_ = 0;
  begun_ = true;
}

::torch::optional<std::vector<std::size_t>> RankSampler::next(std::size_t batch_size) {
  begun_ = true;
  const std::size_t count = std::min(batch_size, samples() - drawn_);
  if (count == 0) return ::torch::nullopt;
  const std::span<const std::uint32_t> order = order_.order(epoch_);
  std::vector<std::size_t> indices(count);
  for (std::size_t& index : indices) index = order[drawn_++ * ranks_ + rank_];
  return indices;
}

void RankSampler::save(::torch::serialize::OutputArchive& archive) const {
  archive.write("epoch", ::torch::tensor(epoch_, ::torch::kInt64));
  archive.write("drawn", ::torch::tensor(static_cast<std::int64_t>(drawn_), ::torch::kInt64));
}

void RankSampler::load(::torch::serialize::InputArchive& archive) {
  auto epoch = ::torch::empty(1, ::torch::kInt64);
  auto drawn = ::torch::empty(1, ::torch::kInt64);
  archive.read("epoch", epoch);
  archive.read("drawn", drawn);
  set_epoch(epoch.item<std::int64_t>());
  drawn_ = static_cast<std::size_t>(drawn.item<std::int64_t>());
  if (drawn_ > samples())
    throw InvalidConfig("the saved sampler had drawn " + std::to_string(drawn_) +
                        " samples, and this rank has " + std::to_string(samples()) +
                        "; load it with the same data and as many ranks");
  begun_ = drawn_ == samples();
}

}  // namespace tacit::torch
