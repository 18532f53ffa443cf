// SPDX-License-Identifier: MIT
// Top-k -- D. Alistarh et al., "The Convergence of Sparsified Gradient Methods", NeurIPS 2018, arXiv:1809.10505.
//
// Rule    the ceil(ratio n) values of largest magnitude travel as they are; of equal magnitudes the first ones.
// Error   ||C(x) - x||^2 <= (1 - k/n) ||x||^2: a contraction, biased.
// How     the k-th largest magnitude is found exactly by counting its bits, 11, 10 and 10 of them at a time; the first
//         count goes over all values, the others over those that agree so far.
// Answer  ranks choose different values, so that their average has up to P times as many: the owner of a shard keeps
//         `answer` times as many as a rank does, or most of what arrives would wait once more.
// Default ratio=0.01, answer=3.
// Bytes   8 per value that is sent, and 4; `packed`: about 3 per value, which is then rounded to 8 bits of precision.
// Layout  sparse.h.
#include <algorithm>

#include "compress/makers.h"
#include "compress/sparse.h"

namespace tacit {
namespace {

class TopK final : public Compressor {
 public:
  TopK(double ratio, sparse::Layout layout) : ratio_(ratio), layout_(layout), writer_(layout) {}

  std::size_t max_bytes(std::size_t n) const override {
    return sparse::bytes_for(layout_, sparse::kept(ratio_, n), n);
  }

  std::size_t encode(ConstFloatView of, Rng, Bytes out) override {
    const std::span<const float> x = of.host();
    writer_.start();
    Cut cut = find_cut(x, sparse::kept(ratio_, x.size()));
    finder_.each(x, cut.magnitude, kernels::kLargestMagnitude, [&](std::size_t i) {
      if (sparse::magnitude(x[i]) == cut.magnitude && cut.ties-- <= 0) return;
      writer_.put(i);
    });
    return writer_.fill(x, out);
  }

  void decode_add(ConstBytes payload, float factor, FloatView y) const override {
    sparse::decode_add("topk", payload, layout_, factor, y.host());
  }

 private:
  // The k-th largest magnitude, and how many values of exactly this magnitude belong to the k.
  struct Cut {
    std::uint32_t magnitude;
    std::ptrdiff_t ties;
  };
  static constexpr std::size_t kBins = 2048;  // of the first digit; the others have half as many
  using Counts = std::array<std::uint32_t, kBins>;

  // The digit of the k-th largest, counted from the top; k becomes its rank among those with this digit.
  static std::uint32_t digit_of(const Counts& counts, std::size_t& k) {
    std::size_t bin = kBins - 1;
    for (; counts[bin] < k; --bin) k -= counts[bin];
    return static_cast<std::uint32_t>(bin);
  }

  Cut find_cut(std::span<const float> x, std::size_t k) {
    if (k == 0) return {kernels::kLargestMagnitude, 0};
    std::uint32_t cut = first_digit(x, k) << 20U;
    for (const std::uint32_t shift : {10U, 0U}) {
      Counts counts{};
      finder_.each(x, cut, cut | ((1U << (shift + 10U)) - 1),
                   [&](std::size_t i) { ++counts[sparse::magnitude(x[i]) >> shift & 1023U]; });
      cut |= digit_of(counts, k) << shift;
    }
    return {cut, static_cast<std::ptrdiff_t>(k)};
  }

  // Four tables, because neighbours often have the same digit and an addition would wait for the one before.
  std::uint32_t first_digit(std::span<const float> x, std::size_t& k) {
    for (Counts& counts : tables_) counts.fill(0);
    std::size_t i = 0;
    for (; i + 4 <= x.size(); i += 4)
      for (std::size_t j = 0; j < 4; ++j) ++tables_[j][sparse::magnitude(x[i + j]) >> 20U];
    for (; i < x.size(); ++i) ++tables_[0][sparse::magnitude(x[i]) >> 20U];
    for (std::size_t j = 1; j < 4; ++j)
      for (std::size_t bin = 0; bin < kBins; ++bin) tables_[0][bin] += tables_[j][bin];
    return digit_of(tables_[0], k);
  }

  const double ratio_;
  const sparse::Layout layout_;
  std::array<Counts, 4> tables_;
  sparse::Finder finder_;
  sparse::Writer writer_;
};

}  // namespace

double read_ratio(OptionReader& options, double fallback) {
  const double ratio = options.number("ratio", fallback, 0, 1, {"share of the values that is sent"});
  if (!(ratio > 0))
    throw InvalidConfig(options.spec().name +
                        ": ratio=0 sends nothing; give a number in (0, 1], such as 0.01");
  return ratio;
}

double read_answer(OptionReader& options, double ratio) {
  return std::min(1.0, ratio * options.number("answer", 3, 1, 1e6,
                                              {"what a mean of several ranks sends, times the ratio"}));
}

CompressorInfo topk_info() {
  return {"topk", "the largest values, exactly so many", "arXiv:1809.10505", "topk:ratio=0.01,ef",
          [](OptionReader& options) -> CompressorMaker {
            const double ratio = read_ratio(options, 0.01);
            const double answer = read_answer(options, ratio);
            const sparse::Layout layout = sparse::read_layout(options);
            return {{.contracts = true, .sparse = true},
                    [=] { return std::make_unique<TopK>(ratio, layout); },
                    nullptr,
                    [=] { return std::make_unique<TopK>(answer, layout); },
                    {2.6, 0.2}};
          }};
}

}  // namespace tacit
