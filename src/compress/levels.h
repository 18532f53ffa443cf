// SPDX-License-Identifier: MIT
// Stochastic rounding to a few levels per bucket: what qsgd and terngrad share.
//
// Layout  fixed width: f32 size of a level per bucket, then per bucket ceil(values / per_byte) bytes of codes as
//                      kernels::to_levels packs them.
//         Elias:       f32 size of a level per bucket, then one stream of bits, highest bit first, filled up to whole
//                      bytes with zeros. Per bucket: Elias(1 + number of values that are not zero), then for each of
//                      them Elias(distance to the one before), its sign (1 for minus), Elias(|level|).
#pragma once

#include <vector>

#include "core/pack_kernels.h"
#include "tacit/compress/compressor.h"

namespace tacit {

struct LevelRule {
  const char* who = "";
  int levels = 1;
  std::size_t bucket = 0;
  bool max_norm = false;  // of a bucket; otherwise the Euclidean one
  bool elias = false;
};

class LevelCompressor final : public Compressor {
 public:
  explicit LevelCompressor(const LevelRule& rule);
  std::size_t max_bytes(std::size_t n) const override;
  std::size_t encode(ConstFloatView x, Rng rng, Bytes out) override;
  void decode_add(ConstBytes payload, float factor, FloatView y) const override;

 private:
  std::size_t buckets(std::size_t n) const { return (n + rule_.bucket - 1) / rule_.bucket; }
  std::size_t codes_at(std::size_t n) const { return buckets(n) * sizeof(float); }
  std::size_t bucket_bytes() const { return kernels::packed_bytes(rule_.bucket, per_byte_); }
  Slice bucket(std::size_t n, std::size_t b) const;
  // Codes of bucket b in a fixed-width stream for n values.
  Slice packed(std::size_t n, std::size_t b) const;
  float level_size(ConstFloatView x) const;
  void decode_elias(ConstBytes payload, float factor, FloatView y) const;

  const LevelRule rule_;
  const int per_byte_;
  std::vector<std::uint8_t> codes_;  // of one bucket, for Elias
};

}  // namespace tacit
