// SPDX-License-Identifier: MIT
// The ways in which compressed contributions become a mean.
//
//   gather   every rank compresses its vector and sends it to all; all add up what they got, in rank order.
//   scatter  every rank compresses the shard of each owner and sends it there; the owner averages what it got,
//            compresses the average and sends it to all. With memory, the rank keeps what its compression left out and
//            so does the owner (dist-EF-SGD, arXiv:1905.10936). Ranks and owners may be silent.
//   sums     linear sketches are averaged as they are, by all-reduce.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compress/feedback.h"
#include "means/compressed_parts.h"
#include "tacit/collectives/comm.h"
#include "tacit/strategy/mean.h"

namespace tacit {

// One mean.
struct MeanStep {
  std::int64_t t = 0;
  Rng rng;  // this rank's draws
  float rescale =
      1;  // what residuals are multiplied by: eta_{t-1}/eta_t where x is multiplied by eta_t later
  std::optional<Speakers> workers{};  // everyone, where nothing is said
  std::optional<Speakers> servers{};
};

// Threads  one at a time, the same on every rank.
class MeanRoute {
 public:
  virtual ~MeanRoute() = default;
  // result, which is zero, becomes the mean over ranks of what their memories have pending, and the memory learns what
  // was sent. speak: whether this rank says anything.
  virtual void mean(Collectives& comm, const MeanStep& step, bool speak, Feedback& memory,
                    FloatView result) = 0;
  // Without it nothing happened.
  virtual void commit() {}
  virtual void save(StateWriter&) const {}
  virtual void load(StateReader&) {}
};

std::unique_ptr<MeanRoute> make_gather_route(const Compression& how, std::vector<Slice> pieces);

struct ScatterPlan {
  Direction up;  // by owner, whose shards are chunks of the vector
  Direction down;
  Effort effort;
  Memory owners;   // what owners remember
  FloatView like;  // the vector
};
std::unique_ptr<MeanRoute> make_scatter_route(ScatterPlan plan, const Collectives& comm);

// rows: of each piece where these are known, otherwise empty.
std::unique_ptr<MeanRoute> make_sketch_route(const Compression& how, std::vector<Slice> pieces,
                                             std::span<const std::size_t> rows);

// In virtual time: so many copies of a vector of that length.
inline void spend_copies(Collectives& comm, double copies, std::size_t values) {
  comm.clock().work(copies * static_cast<double>(values * sizeof(float)));
}

// Whether a rank says anything, where it is its turn.
bool speaks(const std::optional<Speakers>& who, int rank, ConstFloatView all, ConstFloatView fresh);

}  // namespace tacit
