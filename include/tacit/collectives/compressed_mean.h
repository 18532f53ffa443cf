// SPDX-License-Identifier: MIT
// The mean of vectors that travel compressed.
//
//   gather   every rank compresses its vector and sends it to all; all add up what they got, in rank order.
//   scatter  every rank compresses the shard of each owner and sends it there; the owner averages what it got,
//            compresses the average and sends it to all. With memory, the rank keeps what its compression left out and
//            so does the owner (dist-EF-SGD, arXiv:1905.10936).
//   sums     linear sketches are averaged as they are, by all-reduce.
//
// Which of gather and scatter sends fewer bytes depends on the number of ranks: P-1 payloads of the vector against
// 2 (P-1) payloads of a P-th of it (an answer may be larger). Where they are equal, gather compresses once.
#pragma once

#include <memory>
#include <span>

#include "tacit/collectives/comm.h"
#include "tacit/compress/compression.h"

namespace tacit {

// Memory    residuals lie beside the parameters they belong to, whatever route they took.
// Bits      the result is the same on every rank, in every world.
// Threads   one at a time, the same on every rank.
class CompressedMean {
 public:
  // Where the tensors of the vector lie, and their numbers of rows where these are known (otherwise empty).
  CompressedMean(const Compression& how, std::span<const Slice> tensors, std::span<const std::size_t> rows);
  ~CompressedMean();
  CompressedMean(const CompressedMean&) = delete;
  CompressedMean& operator=(const CompressedMean&) = delete;

  struct Step {
    std::int64_t t = 0;
    Rng rng;  // this rank's draws
    float rescale =
        1;  // what residuals are multiplied by: eta_{t-1}/eta_t where x is multiplied by eta_t later
  };
  // x <- mean over ranks. Throws Diverged, which names the tensor and the step, where x is not finite; nothing was sent
  // then and the memory is as it was. Otherwise what Comm throws, and Mismatch for a payload that cannot be.
  void mean(Comm& comm, FloatView x, const Step& step);

  // What this rank has not sent yet, in the order of the tensors that are compressed; empty without memory.
  ConstFloatView residual() const;
  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacit
