// SPDX-License-Identifier: MIT
// What is trained on, and the order in which ranks see it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/core/registry.h"
#include "tacit/train/samples.h"

namespace tacit {

// Labelled images in memory, channel by channel, as the files hold them.
struct ImageBytes {
  ImageShape shape;
  int classes = 0;
  std::vector<std::uint8_t> pixels;  // size() * shape.size()
  std::vector<std::uint8_t> labels;
  std::array<float, 3> mean{};    // per channel, of pixels scaled to [0, 1]
  std::array<float, 3> spread{};  // standard deviation, likewise

  std::size_t size() const { return labels.size(); }
};

// Threads  all ranks of a process share one.
struct Dataset {
  ImageShape shape;
  int classes = 0;
  std::unique_ptr<Samples> samples;

  std::size_t size() const { return samples->size(); }
};

Dataset in_memory(ImageBytes images);

// What is trained on and what is tested on; equal shape and classes, and scaled alike.
struct DataPair {
  Dataset train;
  Dataset test;
};

// Gathers samples by index into a batch, whose memory is reused; as they are in the first epoch of seed 0.
inline void gather(const Dataset& data, std::span<const std::uint32_t> indices, Batch& out) {
  data.samples->gather({indices}, out);
}

// The samples of one epoch in the order of (seed, epoch), cut into global batches and each of those into
// one piece per rank: step s, rank r takes order[s*B + r*b, +b) with B = b*ranks. Which samples make up a
// global batch therefore depends on B and not on the number of ranks. A short last global batch is left out.
class Sampler {
 public:
  // Throws InvalidConfig where not one global batch fits.
  Sampler(std::size_t samples, std::size_t batch, int ranks, std::uint64_t seed);

  std::int64_t steps_per_epoch() const { return steps_; }
  // The indices for this rank's step of this epoch (0 <= step < steps_per_epoch()). The span lives until
  // the next call.
  std::span<const std::uint32_t> indices(std::int64_t epoch, std::int64_t step, int rank);
  // One of so many equal pieces of the whole step's global batch, whoever asks; as many pieces as ranks are their
  // indices. Throws InvalidConfig where they would not be equal.
  std::span<const std::uint32_t> piece(std::int64_t epoch, std::int64_t step, std::int64_t piece, int pieces);
  // The same by the steps of a whole run, with what is drawn by seed and epoch. Live as long.
  Wanted wanted(std::int64_t step_of_run, int rank);
  Wanted wanted_piece(std::int64_t step_of_run, std::int64_t piece, int pieces);
  // All samples in the order of this epoch, those that are left out at the end. Lives as long.
  std::span<const std::uint32_t> order(std::int64_t epoch);

 private:
  std::size_t batch_;
  int ranks_;
  std::uint64_t seed_;
  std::int64_t steps_;
  std::int64_t epoch_ = -1;
  std::vector<std::uint32_t> order_;
};

// Who loads: what reads files in the background takes its share of the cores.
struct LoadPlace {
  int processes = 1;  // on this machine that load the same data
};
using LoadData = std::function<DataPair(const LoadPlace&)>;

struct DatasetInfo {
  std::string name;
  std::string summary;  // one line
  std::string paper;    // or where else it is described
  std::string example;  // as a user writes it
  // Loading has two halves, so that a mistyped option is refused before a file is opened: this one reads the options,
  // what it returns does the slow work.
  std::function<LoadData(OptionReader&)> prepare;
};

const Registry<DatasetInfo>& builtin_datasets();

// `fashion-mnist`, `images:path=DIR`, `synthetic:samples=1000`. Throws InvalidConfig, with the nearest known
// name for an unknown one and a sentence that says what to change for a bad file.
DataPair load_dataset(std::string_view spec, const LoadPlace& place = {});

}  // namespace tacit
