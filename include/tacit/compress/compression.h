// SPDX-License-Identifier: MIT
// Compressors by name, and what `--compress` says: `topk:ratio=0.01,ef`, `onebit,ef`, `powersgd:rank=2,ef,min=4096`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tacit/compress/compressor.h"
#include "tacit/core/registry.h"

namespace tacit {

using MakeCompressor = std::function<std::unique_ptr<Compressor>()>;
using MakeSketch = std::function<std::unique_ptr<LinearSketch>(Matrix)>;

// What a compressor costs, measured by `tacit bench compress`: times that of copying what it is given. Virtual time is
// spent by it.
struct Effort {
  double encode = 1;
  double decode = 1;  // by adding
};

// How one compressor is made, once its options are read. One of the two is set.
struct CompressorMaker {
  Traits traits;
  MakeCompressor compressor;
  MakeSketch sketch;
  // For an average of several ranks' payloads, where that has more to say than each of them; otherwise not set.
  MakeCompressor answer{};
  Effort effort{};
};

struct CompressorInfo {
  std::string name;
  std::string summary;  // one line
  std::string paper;
  std::string example;                                 // as a user writes it
  std::function<CompressorMaker(OptionReader&)> make;  // throws InvalidConfig
};
using CompressorRegistry = Registry<CompressorInfo>;

const CompressorRegistry& builtin_compressors();

// What is wrapped around a compressor.
enum class Memory {
  kNone,
  kErrorFeedback,  // ef: what was not sent is added to the next step's input
  kMomentum,       // dgc: momentum before compression too, and cleared where an entry was sent
};

// How contributions become a mean.
enum class Route {
  kAuto,     // by bytes
  kGather,   // everyone sends its payload to everyone
  kScatter,  // shards are averaged by their owners, which compress them again
};

// A parsed --compress.
struct Compression {
  // Every compressor also takes
  //   ef, dgc                       what stands around it
  //   momentum=                     in front of it: with dgc 0.9 if not said, with ef see docs/compression.md
  //   min=256                       tensors with fewer values travel as they are
  //   per=tensor|bucket|model       what one call of the compressor sees: a tensor, the tensors of one bucket of a gradient
  //                                 that leaves while it is computed (all of them, where none does), or all of them as
  //                                 one vector; model for topk and drop if not said, tensor for the others
  //   via=auto|gather|scatter       how contributions become a mean
  // Throws InvalidConfig.
  static Compression parse(std::string_view spec, const CompressorRegistry& known = builtin_compressors());
  // The options of a compressor, with those that all have.
  static std::vector<OptionInfo> options_of(const CompressorInfo& info);

  std::string text;  // as the user wrote it
  std::string name;
  CompressorMaker maker;
  Memory memory = Memory::kNone;
  std::optional<float> momentum;  // in front of the compressor, where the inner optimiser then has none
  std::size_t min_values = 0;
  bool whole_model = false;  // or the whole bucket:
  bool by_bucket = false;
  Route route = Route::kAuto;
};

}  // namespace tacit
