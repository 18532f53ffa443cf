// SPDX-License-Identifier: MIT
// Momentum in front of a compressor.
//
// Error feedback delivers late, and what comes late and then passes through a momentum overshoots: arXiv:1905.10936
// therefore applies it before, in Nesterov's form, and the inner optimiser has none:
//   nesterov     m <- mu m + g;   out = g + mu m
//   heavy ball   m <- mu m + g;   out = m          (small tensors beside dgc, whose large ones do the same)
#pragma once

#include "tacit/core/buffer.h"
#include "tacit/core/state.h"
#include "tacit/core/views.h"

namespace tacit {

// One rank's momentum of vectors like the one it is made with. A step is take() for all parts, then commit(); without commit() nothing happened.
//
// Threads  one at a time.
class Momentum {
 public:
  enum class Form { kNesterov, kHeavyBall };
  // With mu = 0 it costs nothing, and out is g.
  Momentum(Form form, float mu, FloatView like);

  // out <- what takes the place of g, which lies at `at` of the vector. False where it is not finite.
  [[nodiscard]] bool take(ConstFloatView g, Slice at, FloatView out);
  void commit() { swap(now_, next_); }

  void save(StateWriter& state) const { state.write("momentum", now_.view()); }
  void load(StateReader& state) { state.read("momentum", now_.view()); }

 private:
  const Form form_;
  const float mu_;
  Buffer now_;   // m
  Buffer next_;  // until commit()
};

}  // namespace tacit
