// SPDX-License-Identifier: MIT
// Recursive doubling and halving for any number of ranks. Pure arithmetic.
//
// The largest power of two of the ranks, the core, runs the butterfly. Each rank beyond it, an extra, hands
// its data to one core rank before and gets the result from it afterwards.
#pragma once

#include <algorithm>
#include <bit>

namespace tacit::butterfly {

constexpr int core_size(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }
constexpr int rounds(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1; }
constexpr bool is_extra(int rank, int n) { return rank >= core_size(n); }
// The core rank that stands in for an extra one.
constexpr int stand_in(int extra, int n) { return extra - core_size(n); }
// The extra that a core rank stands in for, or -1.
constexpr int charge(int core, int n) { return core + core_size(n) < n ? core + core_size(n) : -1; }
constexpr int partner(int rank, int round) { return rank ^ (1 << round); }

// A range of the core's chunks: [first, last).
struct Range {
  int first;
  int last;
  constexpr int middle() const { return (first + last) / 2; }
};
// The chunks that a core rank still works on before halving round `round` (0: all of them). Halving goes
// from the farthest partner to the nearest, so that what remains is one range that holds chunk `rank`.
constexpr Range held(int rank, int n, int round) {
  const int width = std::max(1, core_size(n) >> round);
  return {rank / width * width, rank / width * width + width};
}
// The partner in halving round `round`.
constexpr int halving_partner(int rank, int n, int round) { return partner(rank, rounds(n) - 1 - round); }

static_assert(core_size(5) == 4 && rounds(5) == 2 && rounds(1) == 0);
static_assert(is_extra(4, 5) && stand_in(4, 5) == 0 && charge(0, 5) == 4 && charge(1, 5) == -1);
static_assert(held(3, 4, 0).last == 4 && held(3, 4, 2).first == 3 && held(3, 4, 2).last == 4);
static_assert(halving_partner(3, 4, 0) == 1 && halving_partner(3, 4, 1) == 2);

}  // namespace tacit::butterfly
