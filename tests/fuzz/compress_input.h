// SPDX-License-Identifier: MIT
// An input of compress_fuzz: a payload, and who decodes it into how many values.
//   byte 0         the compressor, an index into kCompressors
//   bytes 1 and 2  the length of the vector, modulo kMostValues
//   the rest       the payload
#pragma once

#include <array>
#include <cstddef>

namespace tacit::fuzz {

constexpr std::size_t kMostValues = 3000;
constexpr std::array kCompressors{"identity",      "fp16",
                                  "bf16",          "int8",
                                  "qsgd",          "qsgd:levels=127",
                                  "qsgd:elias",    "qsgd:elias,bucket=8,levels=127",
                                  "terngrad",      "onebit:block=64",
                                  "topk",          "drop",
                                  "int8:block=16", "topk:packed"};

}  // namespace tacit::fuzz
