// SPDX-License-Identifier: MIT
// bfloat16 -- D. Kalamkar et al., "A Study of BFLOAT16 for Deep Learning Training", arXiv:1905.12322.
//
// Rule    round to nearest, ties to even; the range of floats, 8 bits of precision.
// Error   at most 2^-8 |x|.
// Bytes   2 per value.
//
// Layout  u16 x[n], the upper half of binary32.
#include "compress/makers.h"
#include "compress/wire.h"
#include "core/pack_kernels.h"

namespace tacit {
namespace {

class Bf16 final : public Compressor {
 public:
  std::size_t max_bytes(std::size_t n) const override { return n * sizeof(std::uint16_t); }
  std::size_t encode(ConstFloatView x, Rng, Bytes out) override {
    kernels::to_bf16(x, wire::part<std::uint16_t>(out, 0, x.size()));
    return max_bytes(x.size());
  }
  void decode_add(ConstBytes payload, float factor, FloatView y) const override {
    wire::expect_bytes("bf16", payload, max_bytes(y.size()));
    kernels::add_bf16(wire::part<std::uint16_t>(payload, 0, y.size()), factor, y);
  }
};

}  // namespace

CompressorInfo bf16_info() {
  return {"bf16", "bfloat16, rounded to nearest: 2 bytes per value", "arXiv:1905.12322", "bf16",
          [](OptionReader&) -> CompressorMaker {
            return {{.contracts = true}, [] { return std::make_unique<Bf16>(); }, nullptr, {}, {0.6, 0.8}};
          }};
}

}  // namespace tacit
