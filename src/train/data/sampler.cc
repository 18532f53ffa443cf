// SPDX-License-Identifier: MIT
#include <limits>
#include <numeric>

#include "tacit/core/error.h"
#include "tacit/train/dataset.h"
#include "train/data/shuffle.h"

namespace tacit {
namespace {

std::int64_t count_steps(std::size_t samples, std::size_t batch, int ranks) {
  TACIT_CHECK(ranks >= 1, "a sampler needs a rank");
  TACIT_CHECK(samples <= std::numeric_limits<std::uint32_t>::max(), "sample indices have 32 bits");
  if (batch == 0) throw InvalidConfig("a batch of 0 trains on nothing; use a batch of 1 or more");
  const std::size_t largest = samples / static_cast<std::size_t>(ranks);
  if (batch <= largest) return static_cast<std::int64_t>(samples / (batch * static_cast<std::size_t>(ranks)));
  throw InvalidConfig("a batch of " + std::to_string(batch) + " per worker on " + std::to_string(ranks) +
                      " ranks does not fit into " + std::to_string(samples) + " samples; use " +
                      (largest > 0 ? "a batch of " + std::to_string(largest) + " per worker or less"
                                   : "more samples, as not even a batch of 1 per worker fits"));
}

}  // namespace

Sampler::Sampler(std::size_t samples, std::size_t batch, int ranks, std::uint64_t seed)
    : batch_(batch),
      ranks_(ranks),
      seed_(seed),
      steps_(count_steps(samples, batch, ranks)),
      order_(samples) {}

std::span<const std::uint32_t> Sampler::indices(std::int64_t epoch, std::int64_t step, int rank) {
  TACIT_CHECK(step >= 0 && step < steps_, "no such step in an epoch");
  TACIT_CHECK(rank >= 0 && rank < ranks_, "no such rank");
  const auto piece = static_cast<std::size_t>(step * ranks_ + rank);
  return order(epoch).subspan(piece * batch_, batch_);
}

std::span<const std::uint32_t> Sampler::piece(std::int64_t epoch, std::int64_t step, std::int64_t piece,
                                              int pieces) {
  TACIT_CHECK(step >= 0 && step < steps_, "no such step in an epoch");
  TACIT_CHECK(piece >= 0 && piece < pieces, "no such piece");
  const std::size_t all = batch_ * static_cast<std::size_t>(ranks_);
  if (all % static_cast<std::size_t>(pieces) != 0)
    throw InvalidConfig("the strategy cuts a global batch of " + std::to_string(all) + " samples, " +
                        std::to_string(batch_) + " per worker, into " + std::to_string(pieces) +
                        " equal pieces, which does not go; use a batch of " + std::to_string(pieces) +
                        " per worker, or a multiple of that");
  const std::size_t each = all / static_cast<std::size_t>(pieces);
  return order(epoch).subspan(static_cast<std::size_t>(step) * all + static_cast<std::size_t>(piece) * each,
                              each);
}

Wanted Sampler::wanted(std::int64_t step_of_run, int rank) {
  const std::int64_t epoch = step_of_run / steps_;
  return {indices(epoch, step_of_run % steps_, rank), epoch, seed_};
}

Wanted Sampler::wanted_piece(std::int64_t step_of_run, std::int64_t number, int pieces) {
  const std::int64_t epoch = step_of_run / steps_;
  return {piece(epoch, step_of_run % steps_, number, pieces), epoch, seed_};
}

std::span<const std::uint32_t> Sampler::order(std::int64_t epoch) {
  TACIT_CHECK(epoch >= 0, "epochs count from 0");
  if (epoch != epoch_) {
    // From the identity each time: a resumed run must see the order of a run that never stopped.
    std::iota(order_.begin(), order_.end(), 0U);
    Rng rng(seed_, Rng::kEveryRank, epoch, Rng::Use::kShuffle);
    shuffle(order_, rng);
    epoch_ = epoch;
  }
  return order_;
}

}  // namespace tacit
