// SPDX-License-Identifier: MIT
// Payloads of every compressor. Whatever they say, nothing beyond the vector and the payload is touched, and a refused
// payload changes nothing.
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/compress_input.h"
#include "fuzz/target.h"
#include "tacit/compress/compression.h"

namespace tacit::fuzz {
namespace {

const std::vector<std::unique_ptr<Compressor>>& compressors() {
  static const auto all = [] {
    std::vector<std::unique_ptr<Compressor>> made;
    for (const char* spec : kCompressors) made.push_back(Compression::parse(spec).maker.compressor());
    return made;
  }();
  return all;
}

void decode(const Compressor& by, ConstBytes payload, std::size_t values) {
  std::vector<float> y(values, 1.0F);
  try {
    by.decode_add(payload, 0.5F, y);
  } catch (const Mismatch&) {
    for (const float v : y) TACIT_CHECK(v == 1.0F, "a refused payload changes nothing");
  }
}

}  // namespace
}  // namespace tacit::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::size_t values = (data[1] | std::size_t{data[2]} << 8U) % tacit::fuzz::kMostValues;
  // As long as the payload to the byte and aligned as buffers are, so that a sanitizer sees every step beyond it.
  const std::size_t bytes = size - 3;
  const std::unique_ptr<std::byte[]> payload(new std::byte[bytes]);
  if (bytes > 0) std::memcpy(payload.get(), data + 3, bytes);
  tacit::fuzz::decode(*tacit::fuzz::compressors()[data[0] % tacit::fuzz::kCompressors.size()],
                      {payload.get(), bytes}, values);
  return 0;
}
