// SPDX-License-Identifier: MIT
// Payloads of every compressor. Byte 0 names the compressor, bytes 1 and 2 the length of the vector; the rest is the
// payload. Whatever it says, the vector's neighbours stay as they are, and a refused payload changes nothing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "tacit/compress/compression.h"
#include "tacit/core/error.h"

namespace {

constexpr std::array kSpecs{"identity",     "fp16",
                            "bf16",         "int8",
                            "qsgd",         "qsgd:levels=127",
                            "qsgd:elias",   "qsgd:elias,bucket=8,levels=127",
                            "terngrad",     "onebit:block=64",
                            "topk",         "drop",
                            "int8:block=16"};

const std::vector<std::unique_ptr<tacit::Compressor>>& compressors() {
  static const auto all = [] {
    std::vector<std::unique_ptr<tacit::Compressor>> made;
    for (const char* spec : kSpecs) made.push_back(tacit::Compression::parse(spec).maker.compressor());
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const tacit::Compressor& by = *compressors()[data[0] % kSpecs.size()];
  std::vector<float> y((data[1] | std::size_t{data[2]} << 8U) % 3000, 1.0F);
  // As long as the payload to the byte, so that a sanitizer sees every step beyond it.
  const std::unique_ptr<std::byte[]> copy(new std::byte[size - 3]);
  std::memcpy(copy.get(), data + 3, size - 3);
  try {
    by.decode_add({copy.get(), size - 3}, 0.5F, y);
  } catch (const tacit::Mismatch&) {
    for (const float v : y)
      if (v != 1.0F) std::abort();
  }
  return 0;
}
