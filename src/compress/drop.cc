// SPDX-License-Identifier: MIT
// Gradient dropping -- A. F. Aji, K. Heafield, "Sparse Communication for Distributed Gradient Descent", EMNLP 2017,
// arXiv:1704.05021.
//
// Rule    a threshold is the (1 - ratio) quantile of the magnitudes in a random sample; what is at least as large
//         travels as it is. Zeros never do.
// Error   that of top-k for the number of values that were sent, which varies with the sample; biased.
// Answer  as topk.cc.
// Default ratio=0.01, answer=3, sample=0.001 of the values, but at least 4096 of them (all, where there are fewer).
// Bytes   as topk.cc.
// Layout  sparse.h.
#include <algorithm>

#include "compress/makers.h"
#include "compress/sparse.h"

namespace tacit {
namespace {

constexpr std::size_t kLeastSample = 4096;

class Drop final : public Compressor {
 public:
  Drop(double ratio, double sample, sparse::Layout layout)
      : ratio_(ratio), sample_(sample), layout_(layout), writer_(layout) {}

  std::size_t max_bytes(std::size_t n) const override { return sparse::bytes_for(layout_, n, n); }

  std::size_t encode(ConstFloatView of, Rng rng, Bytes out) override {
    const std::span<const float> x = of.host();
    writer_.start();
    finder_.each(x, threshold(x, rng), kernels::kLargestMagnitude, [&](std::size_t i) { writer_.put(i); });
    return writer_.fill(x, out);
  }

  void decode_add(ConstBytes payload, float factor, FloatView y) const override {
    sparse::decode_add("drop", payload, layout_, factor, y.host());
  }

 private:
  std::uint32_t threshold(std::span<const float> x, Rng& rng) {
    const std::size_t n = x.size();
    const std::size_t count = std::min(n, std::max(kLeastSample, sparse::kept(sample_, n)));
    drawn_.resize(count);
    for (std::size_t i = 0; i < count; ++i) drawn_[i] = sparse::magnitude(x[count == n ? i : rng.below(n)]);
    if (count == 0) return 1;
    const auto cut = drawn_.end() - static_cast<std::ptrdiff_t>(sparse::kept(ratio_, count));
    std::nth_element(drawn_.begin(), cut, drawn_.end());
    return std::max(*cut, 1U);
  }

  const double ratio_;
  const double sample_;
  const sparse::Layout layout_;
  std::vector<std::uint32_t> drawn_;
  sparse::Finder finder_;
  sparse::Writer writer_;
};

}  // namespace

CompressorInfo drop_info() {
  return {"drop", "the values above a threshold that a sample gives", "arXiv:1704.05021",
          "drop:ratio=0.01,ef", [](OptionReader& options) -> CompressorMaker {
            const double ratio = read_ratio(options, 0.01);
            const double answer = read_answer(options, ratio);
            const sparse::Layout layout = sparse::read_layout(options);
            const double sample = options.number("sample", 0.001, 1e-9, 1,
                                                 {"share of values that the threshold is found from"});
            return {{.contracts = true, .sparse = true},
                    [=] { return std::make_unique<Drop>(ratio, sample, layout); },
                    nullptr,
                    [=] { return std::make_unique<Drop>(answer, sample, layout); },
                    {0.9, 0.3}};
          }};
}

}  // namespace tacit
