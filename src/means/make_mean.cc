// SPDX-License-Identifier: MIT
#include "means/make_mean.h"

#include <string>
#include <utility>

#include "means/compressed_mean.h"
#include "means/last_rate.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

// The compressed mean, with what it needs of a worker.
class CodedMean final : public Mean {
 public:
  CodedMean(Worker& w, const MeanOptions& options, const MeanCodec& codec)
      : options_(options), core_(codec, {w.params(), w.tensors(), w.rows()}, w.comm()) {}

  bool exact() const override { return false; }
  void mean(Worker& w, FloatView x) override {
    core_.mean(w.comm(), x, step(w));
    rate_.remember(w.lr());
  }
  std::unique_ptr<Pending> start(Worker& w, FloatView x) override {
    return w.comm().start([this, x, step = step(w), rate = w.lr()](Collectives& comm) {
      core_.mean(comm, x, step);
      rate_.remember(rate);  // only now: an exchange that failed leaves what is remembered as it was
    });
  }
  void begin(Worker&, Slice, FloatView) override {}  // what is compressed together must be there together

  void finish(Worker&) override {}
  void save(Worker&, StateWriter& state) override {
    rate_.save(state);
    core_.save(state);
  }
  void load(Worker&, StateReader& state) override {
    rate_.load(state);
    core_.load(state);
  }

 private:
  MeanStep step(Worker& w) {
    // Differences of weights have their eta in them.
    const bool gradients = options_.sends == Sends::kGradients;
    MeanStep step{w.t(), w.rng(Rng::Use::kRounding), gradients ? rate_.rescale(w.lr()) : 1};
    if (options_.silence) {
      step.workers = options_.silence->workers(w.t());
      step.servers = options_.silence->servers(w.t());
    }
    return step;
  }

  const MeanOptions options_;
  CompressedMean core_;
  LastRate rate_;
};

}  // namespace

std::unique_ptr<Mean> make_mean(Worker& w, const MeanOptions& options,
                                const std::optional<Compression>& compress) {
  if (options.servers > 0) {
    if (compress)
      throw InvalidConfig("servers=" + std::to_string(options.servers) + " does not take the compressor " +
                          compress->text + ": what servers average and send back is not compressed");
    return make_server_mean(w, options.servers);
  }
  if (const auto& silence = options.silence) {
    const Compression up = silence->up ? *silence->up
                           : compress  ? *compress
                                       : Compression::parse(silence->otherwise);
    return std::make_unique<CodedMean>(w, options, MeanCodec{up, silence->down, true});
  }
  if (compress) return std::make_unique<CodedMean>(w, options, MeanCodec{*compress});
  return make_plain_mean();
}

}  // namespace tacit
