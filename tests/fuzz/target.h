// SPDX-License-Identifier: MIT
// A fuzz target: libFuzzer calls it with inputs it makes up, replay.cc with those in corpus/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tacit/core/error.h"
#include "tacit/core/views.h"

// Ends the process where a law is broken: TACIT_CHECK throws a Bug that nobody catches.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tacit::fuzz {

inline void check_same(ConstBytes again, ConstBytes bytes) {
  TACIT_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
              "what decodes encodes to the same bytes");
}

}  // namespace tacit::fuzz
