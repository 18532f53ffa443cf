// SPDX-License-Identifier: MIT
#include "cli/launch/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/exit_code.h"

namespace tacit::cli {
namespace {

constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kLongestPause{30};
constexpr const char* kNotTakenIn = "is not started again, because the ranks take nobody in";
constexpr const char* kTooLate = "is not started again, because the run is at its end";

// Another code than that of a lost peer is the rank's own, and would come again.
bool is_loss(const Ending& how) {
  return how.kind != Ending::Kind::kExited || how.value == ExitCode::kPeerLost;
}

}  // namespace

Restarts::Fate Restarts::judge(Others others) const {
  if (most_ == 0 || others == Others::kEnding) return Fate::kOff;
  if (others == Others::kFinishing) return Fate::kTooLate;
  if (others == Others::kTakeNone) return Fate::kNotTakenIn;
  return started_ + static_cast<int>(waiting_.size()) < most_ ? Fate::kLater : Fate::kUsedUp;
}

bool Restarts::may_start(Others others, Time now) const {
  return others == Others::kTakeIn && !returning_ && now >= not_before_;
}

Restarts::Fate Restarts::lost(int rank, Others others, Time now) {
  Fate fate = judge(others);
  if (fate != Fate::kLater) return fate;
  if (waiting_.empty() && may_start(others, now)) fate = Fate::kNow;
  waiting_.push_back({rank, fate == Fate::kNow});
  return fate;
}

Restarts::Fate Restarts::failed(int rank, const Ending& how, Others others, Time now) {
  returning_.reset();
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  not_before_ = now + pause_;
  if (!is_loss(how)) return Fate::kNoLoss;
  const Fate fate = judge(others);
  if (fate == Fate::kLater) waiting_.push_back({rank, false});
  return fate;
}

bool Restarts::back(int rank) {
  if (!returning(rank)) return false;
  returning_.reset();
  pause_ = {};
  return true;
}

std::optional<Restarts::Start> Restarts::next(Others others, Time now) {
  if (waiting_.empty() || !may_start(others, now)) return std::nullopt;
  const Waiting first = waiting_.front();
  waiting_.pop_front();
  returning_ = first.rank;
  return Start{first.rank, ++started_, first.said};
}

std::vector<int> Restarts::drop(Others others) {
  std::vector<int> ranks;
  if (others == Others::kTakeIn || others == Others::kUnknown) return ranks;
  for (const Waiting& each : std::exchange(waiting_, {})) ranks.push_back(each.rank);
  return ranks;
}

std::string Restarts::after_loss(Fate fate) const {
  std::string others = "; the others go on without it";
  switch (fate) {
    case Fate::kNow:
      return others + ", and it " + describe_start(started_ + 1);
    case Fate::kLater:
      return others + ", and it is to be started again";
    case Fate::kUsedUp:
      return others + fmt::format(" (--restart {} is used up)", most_);
    case Fate::kNotTakenIn:
      return others + "; it " + kNotTakenIn;
    case Fate::kTooLate:
      return others + "; it " + kTooLate;
    case Fate::kOff:
    case Fate::kNoLoss:
      break;
  }
  return others;
}

std::string Restarts::after_failure(Fate fate) const {
  std::string away = "; it was not back yet";
  switch (fate) {
    case Fate::kNow:
    case Fate::kLater:
      return away + fmt::format(", and is started again after {} s", pause_.count());
    case Fate::kUsedUp:
      return away + fmt::format(", and --restart {} is used up", most_);
    case Fate::kNotTakenIn:
      return away + ", and " + kNotTakenIn;
    case Fate::kTooLate:
      return away + ", and " + kTooLate;
    case Fate::kNoLoss:
      return away + ", and is not started again, because that was no loss";
    case Fate::kOff:
      break;
  }
  return away;
}

std::string Restarts::describe_start(int number) const {
  return fmt::format("is started again ({} of {})", number, most_);
}

std::string Restarts::describe_drop(Others others) {
  return others == Others::kFinishing ? kTooLate : kNotTakenIn;
}

}  // namespace tacit::cli
