// SPDX-License-Identifier: MIT
// Where the samples of a data set come from, and batches of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tacit {

struct ImageShape {
  int channels = 1;
  int height = 0;
  int width = 0;
  std::size_t size() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(width);
  }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

// A minibatch as models take it: images scaled to zero mean and unit spread per channel.
struct Batch {
  ImageShape shape;
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  std::size_t size() const { return labels.size(); }
};

// Samples by number, as they are in one epoch of one run: what is drawn anew each time, such as a crop, is drawn by
// (seed, epoch, number).
struct Wanted {
  std::span<const std::uint32_t> indices;
  std::int64_t epoch = 0;
  std::uint64_t seed = 0;
};

// The samples of a data set: all that training, scoring and comparing ask of it, wherever it lies.
//
// Threads  any, at any time: all ranks of a process share one.
// Errors   gather throws InvalidConfig where too much of the data cannot be used.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::size_t size() const = 0;
  // The class of each, in their order; empty where samples have none.
  virtual std::vector<std::uint32_t> labels() const = 0;
  // Goes on with a hash (core/hash.h), by all that tells these samples from others.
  virtual std::uint64_t hash(std::uint64_t before) const = 0;
  // Makes a batch, whose memory is reused. What is wanted again comes out again, bit for bit.
  virtual void gather(const Wanted& wanted, Batch& out) = 0;
  // How many batches before its turn it wants to be told of one; 0: it need not be told.
  virtual int batches_ahead() const = 0;
  // This will be wanted soon: what takes time is begun. That it is then not asked for does no harm.
  virtual void expect(const Wanted& wanted) = 0;
  // What the user should know, each once, whoever asks; at the end of a run what is known only then.
  virtual std::vector<std::string> take_warnings(bool at_end) = 0;
};

}  // namespace tacit
