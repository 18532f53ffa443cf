// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tacit {

// A seed for each rank from one number for all. The low 32 bits, which are all that LibTorch's generator on the CPU
// uses, differ for the ranks of one n always, and for all n and ranks below 65,536: no two of those draw the same.
constexpr std::uint64_t rank_seed(std::uint64_t n, int rank) {
  // MurmurHash3's finaliser (A. Appleby): a bijection of 32 bits, so that what differs before it differs behind it.
  const auto scatter = [](std::uint32_t z) {
    z = (z ^ (z >> 16U)) * 0x85EBCA6BU;
    z = (z ^ (z >> 13U)) * 0xC2B2AE35U;
    return z ^ (z >> 16U);
  };
  const std::uint32_t large =
      scatter(static_cast<std::uint32_t>(n >> 16U) ^ (static_cast<std::uint32_t>(n >> 48U) * 0x9E3779B9U));
  const std::uint32_t place =
      (static_cast<std::uint32_t>(n & 0xFFFFU) << 16U) + large;  // small n: large is 0
  const std::uint32_t low = scatter((place ^ static_cast<std::uint32_t>(rank)) + 1);
  return static_cast<std::uint64_t>(scatter(low ^ 0x5BD1E995U)) << 32U | low;
}

}  // namespace tacit
