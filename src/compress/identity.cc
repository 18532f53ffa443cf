// SPDX-License-Identifier: MIT
// Nothing is compressed: the yardstick of the others.
//
// Layout  f32 x[n].
#include "compress/makers.h"
#include "compress/wire.h"
#include "tacit/core/kernels.h"

namespace tacit {
namespace {

class Identity final : public Compressor {
 public:
  std::size_t max_bytes(std::size_t n) const override { return n * sizeof(float); }
  std::size_t encode(ConstFloatView x, Rng, Bytes out) override {
    copy(x, wire::part<float>(out, 0, x.size()));
    return x.size_bytes();
  }
  void decode_add(ConstBytes payload, float factor, FloatView y) const override {
    wire::expect_bytes("identity", payload, max_bytes(y.size()));
    kernels::axpy(factor, wire::part<float>(payload, 0, y.size()), y);
  }
};

}  // namespace

CompressorInfo identity_info() {
  return {
      "identity", "nothing is compressed: the yardstick", "", "identity",
      [](OptionReader&) -> CompressorMaker {
        return {{.unbiased = true, .contracts = true}, [] { return std::make_unique<Identity>(); }, nullptr};
      }};
}

}  // namespace tacit
