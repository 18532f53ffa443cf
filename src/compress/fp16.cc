// SPDX-License-Identifier: MIT
// Half precision -- P. Micikevicius et al., "Mixed Precision Training", ICLR 2018, arXiv:1710.03740.
//
// Rule    round to nearest, ties to even; beyond 65504 the largest finite value. Below 2^-14 the steps are 2^-24.
// Error   at most 2^-11 |x| for 2^-14 <= |x| <= 65504, at most 2^-25 below.
// Bytes   2 per value.
//
// Layout  u16 x[n], IEEE 754 binary16.
#include "compress/makers.h"
#include "compress/wire.h"
#include "core/pack_kernels.h"

namespace tacit {
namespace {

class Fp16 final : public Compressor {
 public:
  std::size_t max_bytes(std::size_t n) const override { return n * sizeof(std::uint16_t); }
  std::size_t encode(ConstFloatView x, Rng, Bytes out) override {
    kernels::to_fp16(x, wire::part<std::uint16_t>(out, 0, x.size()));
    return max_bytes(x.size());
  }
  void decode_add(ConstBytes payload, float factor, FloatView y) const override {
    wire::expect_bytes("fp16", payload, max_bytes(y.size()));
    kernels::add_fp16(wire::part<std::uint16_t>(payload, 0, y.size()), factor, y);
  }
};

}  // namespace

CompressorInfo fp16_info() {
  return {"fp16", "half precision, rounded to nearest: 2 bytes per value", "arXiv:1710.03740", "fp16",
          [](OptionReader&) -> CompressorMaker {
            return {{.contracts = true}, [] { return std::make_unique<Fp16>(); }, nullptr, {}, {0.6, 0.6}};
          }};
}

}  // namespace tacit
