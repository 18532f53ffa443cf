// SPDX-License-Identifier: MIT
// The parts of a compressed mean: which values are compressed together, and messages of several payloads.
#pragma once

#include <span>
#include <vector>

#include "tacit/compress/compressor.h"

namespace tacit {

// A flat vector in two: large tensors, one after the other, which are compressed, and small ones, which are not.
class TensorSplit {
 public:
  struct Tensor {
    std::size_t index;  // in the model
    Slice from;         // in the model
    Slice to;           // among the large, or among the small
    std::size_t rows;
  };
  TensorSplit(std::span<const Slice> tensors, std::span<const std::size_t> rows, std::size_t min_values);

  std::span<const Tensor> large() const { return large_; }
  std::span<const Tensor> small() const { return small_; }
  std::size_t large_values() const { return large_values_; }
  std::size_t small_values() const { return small_values_; }

 private:
  std::vector<Tensor> large_;
  std::vector<Tensor> small_;
  std::size_t large_values_ = 0;
  std::size_t small_values_ = 0;
};

// The parts of the pieces that lie in a shard, in order. Offsets are the vector's.
std::vector<Slice> cut(std::span<const Slice> pieces, Slice shard);

// Writes a message of several payloads: for each its u32 length, itself, and zeros up to the next multiple of 4.
class MessageWriter {
 public:
  // A new message. The memory is kept.
  void clear() { size_ = 0; }
  // Encodes x[part] for every part, with draws of its own, after what is there.
  void add(Compressor& by, ConstFloatView x, std::span<const Slice> parts, Rng rng);
  void write(Compressor& by, ConstFloatView x, std::span<const Slice> parts, Rng rng) {
    clear();
    add(by, x, parts, rng);
  }
  ConstBytes bytes() const { return std::as_bytes(std::span(words_)).first(size_); }

 private:
  std::vector<std::uint32_t> words_;
  std::size_t size_ = 0;
};

// Hands out the payloads of a message. Throws Mismatch where a length does not fit.
class MessageReader {
 public:
  MessageReader(ConstBytes message, int from) : left_(message), from_(from) {}
  ConstBytes next();
  void finish() const;  // refuses what is left over

 private:
  [[noreturn]] void refuse(const char* why) const;
  ConstBytes left_;
  int from_;
};

}  // namespace tacit
