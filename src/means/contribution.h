// SPDX-License-Identifier: MIT
// What a rank has to say: its vector, with momentum in front and what was left out before.
#pragma once

#include "compress/feedback.h"
#include "compress/momentum.h"
#include "means/compressed_parts.h"
#include "tacit/core/buffer.h"

namespace tacit {

// In virtual time, in copies: x is added to the residual, and what was sent is taken out of it.
constexpr double kCopiesOfMemory = 2;

// A step is take(), then what was sent is told to memory(), then commit(); without commit() nothing happened.
//
// Threads  one at a time.
class Contribution {
 public:
  // Small tensors travel as they are. They are remembered only where what is ready may still not be sent.
  enum class Remembers { kLarge, kAll };
  Contribution(const Compression& how, TensorSplit split, FloatView like, Remembers what);

  // Reads x, on that rank at step t. Residuals are multiplied by rescale. Throws Diverged, which names the tensor, where
  // it is not finite.
  struct When {
    int rank;
    std::int64_t t;
    float rescale;
  };
  void take(ConstFloatView x, const When& when);
  void commit();

  const TensorSplit& split() const { return split_; }
  Feedback& memory() {
    return memory_;
  }  // of the large tensors, and of the small ones behind them if it has all
  const Feedback& memory() const { return memory_; }
  FloatView small() { return small_.view(); }  // otherwise these
  // Where a small tensor lies in the memory that has all.
  Slice behind_large(Slice small) const { return {split_.large_values() + small.offset, small.count}; }

  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  bool moves_large() const;
  bool take_large(ConstFloatView x, Slice at, float rescale);

  const Compression how_;
  const bool all_;
  const TensorSplit split_;
  Momentum momentum_;
  Feedback memory_;
  Buffer small_;
};

}  // namespace tacit
