// SPDX-License-Identifier: MIT
// What stands around a compressor and remembers what it left out.
//
// ef   Karimireddy, Rebjock, Stich, Jaggi, "Error Feedback Fixes SignSGD", ICML 2019, arXiv:1901.09847; with the factor
//      of Zheng, Huang, Kwok, "Communication-Efficient Distributed Blockwise Momentum SGD with Error-Feedback",
//      NeurIPS 2019, arXiv:1905.10936:   p = g + (eta_{t-1}/eta_t) e;   send C(p);   e <- p - C(p)
// dgc  Lin, Han, Mao, Wang, Dally, "Deep Gradient Compression", ICLR 2018, arXiv:1712.01887, momentum correction and
//      factor masking:   u <- mu u + g;   v <- (eta_{t-1}/eta_t) v + u;   send C(v);   v <- v - C(v);   u <- 0 where
//      an entry was sent. The inner optimiser has no momentum of its own.
#pragma once

#include "tacit/compress/compression.h"
#include "tacit/core/buffer.h"

namespace tacit {

// One rank's memory for vectors like the one it is made with. A step is take() for all parts, then sent() for what was sent, then
// commit(); without commit() nothing happened, so that a step that fails leaves the memory as it was.
//
// Threads  one at a time.
class Feedback {
 public:
  Feedback(Memory kind, float momentum, FloatView like);

  // pending()[at] <- what to compress in place of x. rescale is eta_{t-1}/eta_t. False where it is not finite.
  [[nodiscard]] bool take(ConstFloatView x, Slice at, float rescale);
  // A place for x, before take() gets it from there.
  FloatView room(Slice at) { return part(pending_.view(), at); }
  // Before sent() what to compress, afterwards what was left out.
  ConstFloatView pending() const { return pending_.view(); }
  void sent(Slice at, const Compressor& by, ConstBytes payload);
  void sent(Slice at, const LinearSketch& by);
  void commit();

  // e, or v; empty where nothing is remembered.
  ConstFloatView residual() const { return residual_.view(); }
  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  const Memory kind_;
  const float momentum_;
  Buffer pending_;
  Buffer residual_;
  Buffer velocity_;       // u
  Buffer next_velocity_;  // until commit()
  Buffer decoded_;
};

}  // namespace tacit
