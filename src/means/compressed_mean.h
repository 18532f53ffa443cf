// SPDX-License-Identifier: MIT
// The mean of vectors that travel compressed, by one of three routes (means/mean_route.h).
//
// Which of gather and scatter sends fewer bytes depends on the number of ranks: P-1 payloads of the vector against
// 2 (P-1) payloads of a P-th of it (an answer may be larger). Where they are equal, gather compresses once. Where ranks
// may be silent, what they say goes to the owners of shards, who can be silent too.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "means/contribution.h"
#include "means/mean_route.h"

namespace tacit {

// A flat vector of tensors.
struct TensorVector {
  FloatView like;  // one of that length, where such vectors lie
  std::span<const Slice> tensors;
  std::span<const std::size_t> rows;  // of each where these are known, otherwise empty
};

// What is compressed how.
struct MeanCodec {
  Compression up;  // what ranks send; tensors with fewer than its min_values are not compressed
  std::optional<Compression>
      down{};           // what owners of shards answer with; as `up` says, where nothing is said
  bool silent = false;  // ranks and owners may be silent: all is remembered, small tensors too
};

// Memory    residuals lie beside the parameters they belong to, whatever route they took.
// Bits      the result is the same on every rank, in every world.
// Threads   one at a time, the same on every rank.
class CompressedMean {
 public:
  // Among the ranks of comm.
  CompressedMean(const MeanCodec& how, const TensorVector& x, const Collectives& comm);
  CompressedMean(const CompressedMean&) = delete;
  CompressedMean& operator=(const CompressedMean&) = delete;

  using Step = MeanStep;
  // x <- mean over ranks. Throws Diverged, which names the tensor and the step, where x is not finite; nothing was sent
  // then and the memory is as it was. Otherwise what Comm throws, and Mismatch for a payload that cannot be.
  void mean(Collectives& comm, FloatView x, const Step& step);

  // What this rank has not sent yet, in the order of the tensors that are compressed; empty without memory.
  ConstFloatView residual() const { return own_.memory().residual(); }
  // x += factor times the same, in the order of x; of tensors that are not compressed nothing is left, unless all is remembered.
  void add_unsent(float factor, FloatView x) const;
  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  std::unique_ptr<MeanRoute> make_route(const MeanCodec& codec, const TensorVector& x,
                                        const Collectives& comm) const;

  const Compression how_;
  const bool silent_;
  Contribution own_;
  Buffer result_;  // of what the memory has
  const std::unique_ptr<MeanRoute> route_;
};

}  // namespace tacit
