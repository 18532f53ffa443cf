// SPDX-License-Identifier: MIT
// The ways to sum a vector over all ranks. docs/collectives.md has steps and bytes of each.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tacit {

enum class AllReduce {
  kAuto,               // by size, see choose_all_reduce
  kRecursiveDoubling,  // log2 P rounds of the whole vector: fewest rounds
  kHalvingDoubling,    // 2 log2 P rounds, bandwidth-optimal
  kDirect,             // 2 rounds in which everyone talks to everyone, bandwidth-optimal
  kRing,               // 2 (P-1) rounds with one neighbour each way, bandwidth-optimal
};

struct AllReduceName {
  AllReduce which;
  std::string_view name;
};
inline constexpr std::array<AllReduceName, 5> kAllReduceNames{{
    {AllReduce::kAuto, "auto"},
    {AllReduce::kRecursiveDoubling, "recursive-doubling"},
    {AllReduce::kHalvingDoubling, "halving-doubling"},
    {AllReduce::kDirect, "direct"},
    {AllReduce::kRing, "ring"},
}};

// What kAuto means. A function of the two numbers alone and not of the transport: every world must sum in
// the same order to end with the same bits.
AllReduce choose_all_reduce(int ranks, std::size_t bytes);

}  // namespace tacit
