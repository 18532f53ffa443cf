// SPDX-License-Identifier: MIT
// Block min-max quantisation to 8 bits -- as in T. Dettmers, "8-Bit Approximations for Parallelism in Deep Learning",
// ICLR 2016, arXiv:1511.04561, with linear steps per block.
//
// Rule    per block of b values: lo, hi their range, step = (hi - lo) / 255, middle = (lo + hi) / 2;
//         q_i = nearest of middle + (q - 127.5) step, q in 0 .. 255.
// Error   at most step / 2 per value, plus rounding.
// Default block=1024.
// Bytes   1 per value and 8 per block.
// Layout  per block: f32 middle, f32 step; then u8 q[n].
#include <algorithm>

#include "compress/makers.h"
#include "compress/wire.h"
#include "core/pack_kernels.h"

namespace tacit {
namespace {

class Int8 final : public Compressor {
 public:
  explicit Int8(std::size_t block) : block_(block) {}

  std::size_t max_bytes(std::size_t n) const override { return codes_at(n) + n; }

  std::size_t encode(ConstFloatView x, Rng, Bytes out) override {
    const auto head = wire::part<float>(out, 0, 2 * blocks(x.size()));
    const auto codes = wire::part<std::uint8_t>(out, codes_at(x.size()), x.size());
    for (std::size_t at = 0, b = 0; at < x.size(); at += block_, ++b) {
      const Slice s{at, std::min(block_, x.size() - at)};
      const kernels::Range range = kernels::range_of(part(x, s));
      const float middle = 0.5F * range.lo + 0.5F * range.hi;
      const float step = (0.5F * range.hi - 0.5F * range.lo) * (2.0F / 255.0F);
      kernels::to_steps(part(x, s), middle, step, codes.subspan(s.offset, s.count));
      head[2 * b] = middle;
      head[2 * b + 1] = step;
    }
    return max_bytes(x.size());
  }

  void decode_add(ConstBytes payload, float factor, FloatView y) const override {
    wire::expect_bytes("int8", payload, max_bytes(y.size()));
    const auto head = wire::part<float>(payload, 0, 2 * blocks(y.size()));
    const auto codes = wire::part<std::uint8_t>(payload, codes_at(y.size()), y.size());
    for (std::size_t at = 0, b = 0; at < y.size(); at += block_, ++b) {
      const Slice s{at, std::min(block_, y.size() - at)};
      kernels::add_steps(codes.subspan(s.offset, s.count), factor * head[2 * b], factor * head[2 * b + 1],
                         part(y, s));
    }
  }

 private:
  std::size_t blocks(std::size_t n) const { return (n + block_ - 1) / block_; }
  std::size_t codes_at(std::size_t n) const { return blocks(n) * 2 * sizeof(float); }
  const std::size_t block_;
};

}  // namespace

CompressorInfo int8_info() {
  return {
      "int8", "8 bits between the least and the largest value of a block", "arXiv:1511.04561",
      "int8:block=256", [](OptionReader& options) -> CompressorMaker {
        const auto block = static_cast<std::size_t>(
            options.integer("block", 1024, 16, 1 << 20, {"values that share one scale"}));
        return {
            {.contracts = true}, [block] { return std::make_unique<Int8>(block); }, nullptr, {}, {0.6, 0.7}};
      }};
}

}  // namespace tacit
