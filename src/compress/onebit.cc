// SPDX-License-Identifier: MIT
// Block-scaled sign -- S. Zheng, Z. Huang, J. Kwok, "Communication-Efficient Distributed Blockwise Momentum SGD with
// Error-Feedback", NeurIPS 2019, arXiv:1905.10936; one bit first in F. Seide et al., Interspeech 2014.
//
// Rule    per block B of d_B values: C(x)_B = (||x_B||_1 / d_B) sign(x_B), where zero counts as plus.
// Error   ||C(x) - x||^2 = ||x||^2 - ||x_B||_1^2 / d_B <= (1 - 1/d_B) ||x||^2 per block: a contraction, biased.
// Default block=1024. The paper's blocks are whole tensors. Where magnitudes differ inside a block, large entries take
//         many steps to get through; smaller blocks follow them, for a few bytes more (docs/compression.md).
// Bytes   1/8 per value and 4 per block.
// Layout  per block: f32 scale; then ceil(n/8) bytes of signs, 1 for minus, lowest bit first.
#include <algorithm>
#include <cmath>

#include "compress/makers.h"
#include "compress/wire.h"
#include "core/pack_kernels.h"
#include "tacit/core/kernels.h"

namespace tacit {
namespace {

class OneBit final : public Compressor {
 public:
  explicit OneBit(std::size_t block) : block_(block) {}

  std::size_t max_bytes(std::size_t n) const override { return signs_at(n) + kernels::packed_bytes(n, 8); }

  std::size_t encode(ConstFloatView x, Rng, Bytes out) override {
    const auto scales = wire::part<float>(out, 0, blocks(x.size()));
    const auto signs = wire::part<std::uint8_t>(out, signs_at(x.size()), kernels::packed_bytes(x.size(), 8));
    for (std::size_t at = 0, b = 0; at < x.size(); at += block_, ++b) {
      const Slice s{at, std::min(block_, x.size() - at)};
      const auto mean = static_cast<float>(kernels::norm1(part(x, s)) / static_cast<double>(s.count));
      scales[b] = std::isfinite(mean) ? mean : kernels::max_abs(part(x, s));  // a sum too large for floats
      kernels::to_signs(part(x, s), signs.subspan(at / 8, kernels::packed_bytes(s.count, 8)));
    }
    return max_bytes(x.size());
  }

  void decode_add(ConstBytes payload, float factor, FloatView y) const override {
    wire::expect_bytes("onebit", payload, max_bytes(y.size()));
    const auto scales = wire::part<float>(payload, 0, blocks(y.size()));
    const auto signs =
        wire::part<std::uint8_t>(payload, signs_at(y.size()), kernels::packed_bytes(y.size(), 8));
    for (std::size_t at = 0, b = 0; at < y.size(); at += block_, ++b) {
      const Slice s{at, std::min(block_, y.size() - at)};
      kernels::add_signs(signs.subspan(at / 8, kernels::packed_bytes(s.count, 8)), factor * scales[b],
                         part(y, s));
    }
  }

 private:
  std::size_t blocks(std::size_t n) const { return (n + block_ - 1) / block_; }
  std::size_t signs_at(std::size_t n) const { return blocks(n) * sizeof(float); }
  const std::size_t block_;  // a multiple of 8: signs of a block begin with a byte
};

}  // namespace

CompressorInfo onebit_info() {
  return {"onebit", "the sign, times the mean magnitude of a block", "arXiv:1905.10936", "onebit,ef",
          [](OptionReader& options) -> CompressorMaker {
            const auto block =
                options.integer("block", 1024, 8, 1 << 30, {"values that share one scale; a multiple of 8"});
            if (block % 8 != 0)
              throw InvalidConfig("onebit: block=" + std::to_string(block) +
                                  " is not a multiple of 8; give " + std::to_string((block + 7) / 8 * 8));
            return {{.contracts = true},
                    [block] { return std::make_unique<OneBit>(static_cast<std::size_t>(block)); },
                    nullptr,
                    {},
                    {0.9, 0.7}};
          }};
}

}  // namespace tacit
