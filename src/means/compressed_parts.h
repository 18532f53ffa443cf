// SPDX-License-Identifier: MIT
// The parts of a compressed mean: which values are compressed together, and messages of several payloads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compress/feedback.h"
#include "tacit/compress/compression.h"

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
  // The same with every tensor cut where shards of the vector meet: what is large stays so, in the order of the shards.
  TensorSplit cut_at(std::span<const Slice> shards) const;

  std::span<const Tensor> large() const { return large_; }
  std::span<const Tensor> small() const { return small_; }
  std::size_t large_values() const { return large_values_; }
  std::size_t small_values() const { return small_values_; }
  // What one call of a compressor sees of the large ones: a tensor, or all of them.
  std::vector<Slice> pieces(bool whole_model) const;

 private:
  TensorSplit() = default;
  void add(bool large, std::size_t index, Slice from, std::size_t rows);

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
  // Encodes every part of x, which begins at `origin` of the parts' vector, with draws of its own, after what is there.
  void add(Compressor& by, ConstFloatView x, std::span<const Slice> parts, Rng rng, std::size_t origin = 0);
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

// Which parts of a vector one message is about: those that are compressed, and those that travel as they are behind.
struct MessageParts {
  std::vector<Slice> compressed;
  std::vector<Slice> plain;
};

// Messages of one direction, to or from the owners of shards: one compressor, and what it sees of each shard. Vectors
// begin at `origin` of the one that was cut.
class Direction {
 public:
  Direction(const MakeCompressor& make, std::vector<MessageParts> shards);

  std::size_t shards() const { return shards_.size(); }
  void write(MessageWriter& message, std::size_t shard, ConstFloatView x, Rng rng, std::size_t origin = 0);
  // y <- y + factor * what the message of a rank says about the shard. Throws Mismatch.
  struct Received {
    int from;
    ConstBytes message;
  };
  void add(Received what, std::size_t shard, float factor, FloatView y, std::size_t origin = 0) const;
  // The memory keeps what the message left out.
  void keep_rest(Feedback& memory, Received what, std::size_t shard, std::size_t origin = 0) const;

 private:
  template <class F>
  void each(Received what, std::size_t shard, std::size_t origin, const F& f) const;

  std::unique_ptr<Compressor> compressor_;
  std::unique_ptr<Compressor> plain_;
  std::vector<MessageParts> shards_;  // by owner
};

}  // namespace tacit
