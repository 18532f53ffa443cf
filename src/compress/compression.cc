// SPDX-License-Identifier: MIT
#include "tacit/compress/compression.h"

#include "compress/makers.h"

namespace tacit {
namespace {

// "onebit,ef" is short for "onebit:ef".
std::string with_colon(std::string_view spec) {
  std::string text(spec);
  const auto first = text.find_first_of(":,");
  if (first != std::string::npos) text[first] = ':';
  return text;
}

void read_memory(Compression& c, OptionReader& options) {
  const bool ef = read_ef(options);
  const bool dgc = read_dgc(options);
  const auto momentum = static_cast<float>(options.number(
      "momentum", 0.9, 0, 0.9999, {"in front of the compressor", "0.9 with dgc, else the optimiser's"}));
  if (options.given("momentum") || dgc) c.momentum = momentum;
  if (options.given("momentum") && !dgc && !ef)
    throw InvalidConfig(c.name +
                        ": momentum= belongs to ef and dgc; add one of them, or leave it to the optimiser");
  if (ef && dgc) throw InvalidConfig(c.name + ": dgc keeps what was not sent as ef does; write one of them");
  if (ef && !c.maker.traits.contracts)
    throw InvalidConfig(c.name + ": ef feeds back errors, and those of " + c.text +
                        " can be larger than its input, so that they would grow; leave ef out" +
                        (c.name == "qsgd" ? " or give more levels or a smaller bucket" : ""));
  if (dgc && !c.maker.traits.sparse)
    throw InvalidConfig(c.name + ": dgc clears the momentum of entries that were sent, and " + c.name +
                        " sends all of them; use topk, drop or randomk, or ef in place of dgc");
  c.memory = dgc ? Memory::kMomentum : ef ? Memory::kErrorFeedback : Memory::kNone;
}

Compression read_compression(const CompressorInfo& info, OptionReader& options, std::string text) {
  Compression c;
  c.text = std::move(text);
  c.name = info.name;
  c.maker = info.make(options);
  read_memory(c, options);
  c.min_values = static_cast<std::size_t>(
      options.integer("min", 256, 0, 1LL << 40, {"tensors with fewer values travel as they are"}));
  const std::string scopes[] = {"tensor", "bucket", "model"};
  // One threshold for all layers finds what matters most; scales are a layer's own.
  const bool selects = c.maker.traits.sparse && c.maker.compressor;
  const std::string per =
      options.choice("per", selects ? "model" : "tensor", scopes, {"what is compressed as one vector"});
  c.whole_model = per != "tensor";
  c.by_bucket = per == "bucket";
  const std::string routes[] = {"auto", "gather", "scatter"};
  const std::string via = options.choice("via", "auto", routes, {"how contributions become a mean"});
  c.route = via == "gather" ? Route::kGather : via == "scatter" ? Route::kScatter : Route::kAuto;
  if (c.maker.sketch && options.given("via"))
    throw InvalidConfig(c.name + ": via= has no meaning, because its sums travel; leave it out");
  if (c.maker.sketch && c.whole_model && c.name == "powersgd")
    throw InvalidConfig("powersgd: per=" + per +
                        " has no meaning, because it works on matrices; leave it out");
  return c;
}

}  // namespace

bool read_ef(OptionReader& options) {
  return options.flag("ef", false, {"error feedback: what was not sent is added to the next step's input"});
}

bool read_dgc(OptionReader& options) {
  return options.flag("dgc", false,
                      {"deep gradient compression: momentum is compressed, and cleared where it was sent"});
}

const CompressorRegistry& builtin_compressors() {
  static const CompressorRegistry registry("compressor", {
#define TACIT_COMPRESSOR(name) name##_info(),
#include "compress/compressors.def"
#undef TACIT_COMPRESSOR
                                                         });
  return registry;
}

Compression Compression::parse(std::string_view spec, const CompressorRegistry& known) {
  return known.make(with_colon(spec), [&](const CompressorInfo& info, OptionReader& options) {
    return read_compression(info, options, std::string(spec));
  });
}

std::vector<OptionInfo> Compression::options_of(const CompressorInfo& info) {
  OptionReader options(Spec::parse(info.name));
  read_compression(info, options, info.name);
  return {options.asked().begin(), options.asked().end()};
}

}  // namespace tacit
