// SPDX-License-Identifier: MIT
// When ranks are silent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tacit/core/state.h"
#include "tacit/strategy/mean.h"

namespace tacit {

//   never            everyone speaks at every step
//   period:K         everyone speaks at every K-th step, staggered by rank if wanted
//   random:RHO       everyone is silent with probability RHO, by draws that all ranks make alike
//   magnitude:THETA  who has gathered THETA times as much as one step brings speaks; the others say that they do not
//
// Threads  one at a time.
class SkipSchedule {
 public:
  // Reads what the user gave for `option`. Nobody is silent for more than `limit` steps in a row; a period that is
  // longer is refused. Throws InvalidConfig.
  static SkipSchedule parse(const std::string& option, const std::string& text, std::int64_t limit);

  // How ranks decide: each by itself, or all of them alike.
  enum class Whose { kEachOwn, kAllAlike };
  // Who speaks at step t of so many ranks. Called once per step, on every rank alike.
  Speakers at(std::int64_t t, int ranks, std::uint64_t seed, Whose whose);

  bool draws() const { return kind_ == Kind::kRandom; }  // whether seeds matter
  bool same_period(const SkipSchedule& other) const {
    return kind_ == Kind::kPeriod && other.kind_ == Kind::kPeriod && period_ == other.period_;
  }
  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  enum class Kind { kAlways, kPeriod, kRandom, kMagnitude };
  bool turn(std::int64_t t, int rank, std::uint64_t seed) const;

  Kind kind_ = Kind::kAlways;
  std::int64_t period_ = 1;
  float value_ = 0;  // RHO or THETA
  std::int64_t limit_ = 0;
  // How many steps in a row each rank has been silent; for magnitude only this rank's count, at index 0.
  std::vector<std::uint64_t> silent_;
  float one_step_ = 0;  // the norm of the last update that was not zero
};

}  // namespace tacit
