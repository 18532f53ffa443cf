// SPDX-License-Identifier: MIT
// The two ports of compression. One file in src/compress/ implements each, with its paper and its byte layout.
#pragma once

#include <cstdint>

#include "tacit/core/rng.h"
#include "tacit/core/state.h"
#include "tacit/core/views.h"

namespace tacit {

// What an algorithm may rely on.
struct Traits {
  bool unbiased = false;  // E[decoded] = x
  bool contracts =
      false;            // E||x - decoded||^2 <= (1 - delta) ||x||^2 with delta > 0: error feedback converges
  bool sparse = false;  // sends some entries as they are and the others not at all
};

// Floats into bytes and back.
//
// Input     finite, fewer than 2^32 values.
// Bytes     in the machine's byte order, as ranks of one job share it; buffers are aligned as floats are.
// Bits      encode depends on x and the draws of rng alone, decode_add on its arguments alone, on every CPU alike.
// Memory    scratch is kept between calls; after the first call of a length nothing is allocated.
// Threads   one at a time.
class Compressor {
 public:
  virtual ~Compressor() = default;
  // The most bytes that encode writes for n values.
  virtual std::size_t max_bytes(std::size_t n) const = 0;
  // Writes the payload of x to the start of out, which holds max_bytes(x.size()) at least, and says how long it is.
  virtual std::size_t encode(ConstFloatView x, Rng rng, Bytes out) = 0;
  // y <- y + factor * decoded. Throws Mismatch, before y is touched, for bytes that encode never writes for y.size()
  // values.
  virtual void decode_add(ConstBytes payload, float factor, FloatView y) const = 0;
};

// A tensor as a matrix: `rows` rows, 0 where nobody knows.
struct Matrix {
  std::size_t count = 0;
  std::size_t rows = 0;
};

// What can be summed on the wire: the sketch of a mean is the mean of sketches. One object belongs to one tensor. A
// step is begin(), then for every round sketch(), a mean over all ranks, learn(); then decode_add() and settle().
//
// Threads  one at a time.
class LinearSketch {
 public:
  virtual ~LinearSketch() = default;
  virtual int rounds() const = 0;
  virtual std::size_t floats(int round) const = 0;  // the length of a round's sketch
  // The draws of shared are the same on every rank.
  virtual void begin(Rng shared) = 0;
  virtual void sketch(int round, ConstFloatView x, FloatView out) = 0;
  virtual void learn(int round, ConstFloatView mean) = 0;
  // y <- y + factor * (what all ranks now know of the mean)
  virtual void decode_add(float factor, FloatView y) const = 0;
  // Leaves of x, which was sketched, what the ranks did not learn of it.
  virtual void settle(FloatView x) const = 0;
  // What the next step begins with.
  virtual void save(StateWriter&) const {}
  virtual void load(StateReader&) {}
};

}  // namespace tacit
