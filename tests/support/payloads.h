// SPDX-License-Identifier: MIT
// Payloads of compressors, for their tests.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tacit/compress/compression.h"
#include "tacit/core/kernels.h"

namespace tacit::test {

using Floats = std::vector<float>;

inline Floats normals(std::size_t n, std::int64_t which = 1) {
  Rng rng(7, 0, which, Rng::Use::kData);
  Floats x(n);
  for (float& v : x) v = rng.normal();
  return x;
}

inline Rng rounding(std::int64_t step) { return {3, 0, step, Rng::Use::kRounding}; }

// Payload bytes, aligned as floats are, with the exact length (so that a sanitizer sees any step beyond it).
class Payload {
 public:
  explicit Payload(ConstBytes bytes) : size_(bytes.size()), floats_((bytes.size() + 3) / 4) {
    if (size_ > 0) std::memcpy(floats_.data(), bytes.data(), size_);
  }
  Bytes bytes() { return std::as_writable_bytes(std::span(floats_)).first(size_); }
  ConstBytes bytes() const { return std::as_bytes(std::span(floats_)).first(size_); }

 private:
  std::size_t size_;
  Floats floats_;
};

inline Payload encode(Compressor& by, ConstFloatView x, std::int64_t step = 0) {
  Floats room(by.max_bytes(x.size()) / 4 + 1);
  const Bytes out = std::as_writable_bytes(std::span(room)).first(by.max_bytes(x.size()));
  return Payload(out.first(by.encode(x, rounding(step), out)));
}

inline Floats decode(const Compressor& by, const Payload& payload, std::size_t n) {
  Floats y(n);
  by.decode_add(payload.bytes(), 1, y);
  return y;
}

inline std::string hex(ConstBytes bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned>(b) >> 4U];
    text += "0123456789abcdef"[static_cast<unsigned>(b) & 15U];
  }
  return text;
}

// What a compressor or, on one rank, a sketch makes of x.
inline Floats through(const Compression& c, ConstFloatView x, std::int64_t step = 0) {
  if (c.maker.compressor) {
    const auto by = c.maker.compressor();
    return decode(*by, encode(*by, x, step), x.size());
  }
  const auto by = c.maker.sketch({x.size(), 0});
  by->begin(rounding(step));
  for (int round = 0; round < by->rounds(); ++round) {
    Floats sketch(by->floats(round));
    by->sketch(round, x, sketch);
    by->learn(round, sketch);
  }
  Floats y(x.size());
  by->decode_add(1, y);
  return y;
}

}  // namespace tacit::test
