// SPDX-License-Identifier: MIT
// Random numbers with an address: the n-th draw depends on (seed, rank, step, use, n) and on nothing
// else, so that a run can be replayed, resumed or simulated bit for bit. No generator outlives a step.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace tacit {

class Rng {
 public:
  enum class Use : std::uint64_t {
    kInit = 1,    // initial weights
    kShuffle,     // order of the samples in an epoch
    kData,        // synthetic data
    kMinibatch,   // noise inside a gradient
    kRounding,    // stochastic rounding
    kPeerChoice,  // whom to talk to
    kStraggler,   // simulated delays
    kFault,       // simulated faults
  };
  // The rank of draws that every rank must make alike.
  static constexpr int kEveryRank = -1;

  constexpr Rng(std::uint64_t seed, int rank, std::int64_t step, Use use)
      : state_(mix(mix(mix(mix(seed) ^ static_cast<std::uint64_t>(rank)) ^ static_cast<std::uint64_t>(step)) ^
                   static_cast<std::uint64_t>(use))) {}

  constexpr std::uint64_t next() {
    state_ += kGamma;
    return finish(state_);
  }
  constexpr float uniform() { return static_cast<float>(next() >> 40U) * 0x1.0p-24F; }  // [0, 1)

  // Uniform in [0, n), n >= 1, without modulo bias: draws that fall into the short last run are thrown away.
  constexpr std::uint64_t below(std::uint64_t n) {
    const std::uint64_t first_fair = (0 - n) % n;
    std::uint64_t draw = next();
    while (draw < first_fair) draw = next();
    return draw % n;
  }

  // Standard normal (Box-Muller; the second value is not kept, so that a draw has no memory).
  float normal() {
    const float radius = std::sqrt(-2.0F * std::log(1.0F - uniform()));
    return radius * std::cos(2.0F * std::numbers::pi_v<float> * uniform());
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;
  // SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014): a bijection in which every input bit
  // reaches every output bit.
  static constexpr std::uint64_t finish(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  static constexpr std::uint64_t mix(std::uint64_t z) { return finish(z + kGamma); }

  std::uint64_t state_;
};

static_assert(Rng(1, 2, 3, Rng::Use::kPeerChoice).next() != Rng(1, 2, 3, Rng::Use::kRounding).next());

}  // namespace tacit
