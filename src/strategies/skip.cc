// SPDX-License-Identifier: MIT
#include "strategies/skip.h"

#include <charconv>
#include <cmath>

#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit {

SkipSchedule SkipSchedule::parse(const std::string& option, const std::string& text, std::int64_t limit) {
  static const std::string kNames[] = {"never", "period", "random", "magnitude"};
  const auto colon = text.find(':');
  const std::string name = canonical(text.substr(0, colon));
  const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto refuse = [&](const std::string& why) { throw InvalidConfig(option + "=" + text + ": " + why); };
  SkipSchedule s;
  s.limit_ = limit;
  s.kind_ = name == "never"    ? Kind::kAlways
            : name == "period" ? Kind::kPeriod
            : name == "random" ? Kind::kRandom
            : name == "magnitude"
                ? Kind::kMagnitude
                : throw InvalidConfig(option + ": " + unknown_name("skip schedule", name, kNames));
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool read = error == std::errc() && stop == number.data() + number.size() && std::isfinite(value);
  if (s.kind_ == Kind::kAlways && colon != std::string::npos) refuse("never has no number; take it away");
  if (s.kind_ == Kind::kPeriod && (!read || value < 1 || value > 1e9 || value != std::floor(value)))
    refuse("write period:K with a whole number K of at least 1");
  if (s.kind_ == Kind::kPeriod && value - 1 > static_cast<double>(limit))
    refuse("is silent for " + std::to_string(static_cast<std::int64_t>(value) - 1) +
           " steps in a row, and limit=" + std::to_string(limit) +
           " allows fewer; raise limit or shorten the period");
  if (s.kind_ == Kind::kRandom && (!read || value < 0 || value >= 1))
    refuse("write random:RHO with a probability of silence in [0, 1)");
  if (s.kind_ == Kind::kMagnitude && (!read || value < 0 || value > 1e6))
    refuse("write magnitude:THETA with a number in [0, 1000000]");
  if (s.kind_ == Kind::kPeriod) s.period_ = static_cast<std::int64_t>(value);
  s.value_ = static_cast<float>(value);
  return s;
}

bool SkipSchedule::turn(std::int64_t t, int rank, std::uint64_t seed) const {
  if (kind_ == Kind::kPeriod) return (t + 1 + rank) % period_ == 0;
  if (kind_ != Kind::kRandom) return true;
  return silent_[static_cast<std::size_t>(rank)] >= static_cast<std::uint64_t>(limit_) ||
         Rng(seed, rank, t, Rng::Use::kPeerChoice).uniform() >= value_;
}

Speakers SkipSchedule::at(std::int64_t t, int ranks, std::uint64_t seed, Whose whose) {
  silent_.resize(static_cast<std::size_t>(ranks));
  Speakers who;
  for (int rank = 0; rank < ranks; ++rank)
    who.turns.push_back(turn(t, whose == Whose::kAllAlike ? 0 : rank, seed));
  if (kind_ == Kind::kMagnitude) {
    who.chooses = [this](double all, double fresh) {
      if (fresh > 0) one_step_ = static_cast<float>(fresh);
      const bool speaks =
          all >= static_cast<double>(value_ * one_step_) || silent_[0] >= static_cast<std::uint64_t>(limit_);
      silent_[0] = speaks ? 0 : silent_[0] + 1;
      return speaks;
    };
  } else {
    for (std::size_t rank = 0; rank < silent_.size(); ++rank)
      silent_[rank] = who.turns[rank] ? 0 : silent_[rank] + 1;
  }
  return who;
}

void SkipSchedule::save(StateWriter& state) const {
  state.write("skip.ranks", std::uint64_t{silent_.size()});
  state.write("skip.silent", std::as_bytes(std::span(silent_)));
  state.write("skip.one_step", std::span(&one_step_, 1));
}

void SkipSchedule::load(StateReader& state) {
  const std::uint64_t ranks = state.number("skip.ranks");
  if (ranks > (1U << 24U))
    throw InvalidConfig("saved state, entry 'skip.ranks': there are not so many; it is damaged");
  silent_.resize(ranks);
  state.read("skip.silent", std::as_writable_bytes(std::span(silent_)));
  state.read("skip.one_step", std::span(&one_step_, 1));
}

}  // namespace tacit
