// SPDX-License-Identifier: MIT
// Random-k with a shared seed -- S. U. Stich, J.-B. Cordonnier, M. Jaggi, "Sparsified SGD with Memory", NeurIPS 2018,
// arXiv:1809.07599; with positions that all ranks draw alike, as in A. Xu, H. Huang, "Detached Error Feedback",
// arXiv:2004.05298, so that sums travel and positions do not.
//
// Rule    the n values are cut into k = ceil(ratio n) runs of nearly equal length, and one value of each run is drawn.
//         Alone it is multiplied by its run's length, which makes it unbiased; with ef or dgc it is sent as it is.
// Error   with ef: E||C(x) - x||^2 = sum over runs (1 - 1/length) ||x_run||^2, a contraction.
// Default ratio=0.01. The papers draw any k positions; one per run needs no sorting and no look-up.
// Floats  k in one round.
// Layout  f32 value[k], summed on the wire.
#include <vector>

#include "compress/makers.h"
#include "compress/sparse.h"

namespace tacit {
namespace {

class RandomK final : public LinearSketch {
 public:
  RandomK(double ratio, bool scaled, std::size_t n)
      : n_(n), scaled_(scaled), positions_(sparse::kept(ratio, n)), mean_(positions_.size()) {}

  int rounds() const override { return 1; }
  std::size_t floats(int) const override { return positions_.size(); }

  void begin(Rng shared) override {
    const std::size_t k = positions_.size();
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t first = run_begin(j);
      const std::size_t length = run_begin(j + 1) - first;
      positions_[j] = first + ((shared.next() >> 32U) * length >> 32U);
    }
  }
  void sketch(int, ConstFloatView x, FloatView out) override {
    const std::span<const float> from = x.host();
    const std::span<float> to = out.host();
    for (std::size_t j = 0; j < positions_.size(); ++j) to[j] = weight(j) * from[positions_[j]];
  }
  void learn(int, ConstFloatView mean) override { copy(mean, mean_); }
  void decode_add(float factor, FloatView y) const override {
    const std::span<float> to = y.host();
    for (std::size_t j = 0; j < positions_.size(); ++j) to[positions_[j]] += factor * mean_[j];
  }
  void settle(FloatView x) const override {
    const std::span<float> of = x.host();
    for (const std::size_t p : positions_) of[p] = 0;
  }

 private:
  std::size_t run_begin(std::size_t j) const { return j * n_ / positions_.size(); }
  float weight(std::size_t j) const {
    return scaled_ ? static_cast<float>(run_begin(j + 1) - run_begin(j)) : 1.0F;
  }
  const std::size_t n_;
  const bool scaled_;
  std::vector<std::size_t> positions_;  // this step's, one per run
  std::vector<float> mean_;
};

}  // namespace

CompressorInfo randomk_info() {
  return {"randomk", "values at positions that all ranks draw alike; sums travel", "arXiv:1809.07599",
          "randomk:ratio=0.01,ef", [](OptionReader& options) -> CompressorMaker {
            const double ratio = read_ratio(options, 0.01);
            const bool remembers = read_ef(options) || read_dgc(options);
            return {{.unbiased = !remembers, .contracts = true, .sparse = true},
                    nullptr,
                    [=](Matrix m) { return std::make_unique<RandomK>(ratio, !remembers, m.count); },
                    {},
                    {0.5, 0.2}};
          }};
}

}  // namespace tacit
