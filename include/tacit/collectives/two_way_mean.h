// SPDX-License-Identifier: MIT
// A mean over servers to which workers may be silent, and which may be silent themselves; both compress what they say
// and keep what they did not say (CompSkipDSGD; dist-EF-SGD, arXiv:1905.10936, where nobody is ever silent).
//
//   worker i   p_i = x_i + e_i;  speaks: sends C_up(p_i), e_i <- p_i - C_up(p_i);  is silent: e_i <- p_i
//   server     q = (1/P) sum of what came + e_s;  speaks: sends C_down(q), e_s <- q - C_down(q);  is silent: e_s <- q
//   all        x <- what the servers said, or 0
//
// Every rank is the server of its shard.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/compress/compression.h"

namespace tacit {

// Who speaks in one step, on one side.
struct Speakers {
  std::vector<bool> turns;  // by rank: who may speak, the same on every rank
  // Decides for this rank, from the norms of all it has to send and of what is new. Unset: it always speaks.
  std::function<bool(double all, double fresh)> chooses;
};

// Memory    residuals have what x has in them (a learning rate, momentum), so that they need no factor.
// Bits      the result is the same on every rank, in every world.
// Threads   one at a time, the same on every rank.
class TwoWayMean {
 public:
  // Tensors with fewer values than up.min_values travel as they are, in both directions.
  TwoWayMean(const Compression& up, const Compression& down, std::span<const Slice> tensors, int ranks);
  ~TwoWayMean();
  TwoWayMean(const TwoWayMean&) = delete;
  TwoWayMean& operator=(const TwoWayMean&) = delete;

  struct Step {
    std::int64_t t = 0;
    Rng rng;  // this rank's draws
    const Speakers& workers;
    const Speakers& servers;
  };
  // Throws Diverged where x is not finite; nothing was sent then and the memory is as it was. Otherwise what Comm
  // throws, and Mismatch for a payload that cannot be.
  void mean(Comm& comm, FloatView x, const Step& step);

  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacit
