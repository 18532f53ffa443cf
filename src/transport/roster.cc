// SPDX-License-Identifier: MIT
#include "transport/roster.h"

#include <algorithm>

#include "tacit/core/error.h"
#include "transport/departure.h"

namespace tacit {

std::vector<Loss> Roster::losses() const {
  std::vector<Loss> all;
  if (!anybody_failed()) return all;
  const MutexLock lock(mutex_);
  for (int rank = 0; at(rank) < departures_.size(); ++rank)
    if (failed(rank)) all.push_back({rank, departures_[at(rank)].why});
  return all;
}

std::string Roster::why(int rank) const {
  const MutexLock lock(mutex_);
  return departures_[at(rank)].why;
}

bool Roster::mark(int rank, const Departure& how) {
  std::vector<Wish> wishes;
  {
    const MutexLock lock(mutex_);
    if (here(rank) || departures_[at(rank)].why.empty()) departures_[at(rank)] = how;
    if (!here(rank)) return false;
    presence_[at(rank)].store(how.failed ? Presence::kFailed : Presence::kDone);
    if (how.failed) failed_.store(rank);
    gone_.push_back(rank);
    wishes = wishes_;
  }
  for (const auto& [to, tag] : wishes) tell_(rank, to, tag);
  return true;
}

void Roster::tell_departures(int to, Tag tag) {
  std::vector<int> gone;
  {
    const MutexLock lock(mutex_);
    wishes_.push_back({to, tag});
    gone = gone_;
  }
  for (const int each : gone) tell_(each, to, tag);
}

std::vector<Tag> Roster::wishes() const {
  const MutexLock lock(mutex_);
  std::vector<Tag> tags;
  for (const Wish& each : wishes_) tags.push_back(each.tag);
  return tags;
}

void Roster::come_back(int rank) {
  const MutexLock lock(mutex_);
  std::erase(gone_, rank);
  presence_[at(rank)].store(Presence::kHere);
}

void Roster::begin_disturbed(int rank) {
  const MutexLock lock(mutex_);
  departures_[at(rank)] = {true, "it had been lost and has come back"};
  failed_.store(rank);
}

bool Roster::blame(int rank, const std::exception_ptr& error) {
  const MutexLock lock(mutex_);
  if (!here(rank)) return false;
  const auto its = [&](const Cause& each) { return each.rank == rank; };
  if (std::none_of(causes_.begin(), causes_.end(), its)) causes_.push_back({rank, error});
  return true;
}

std::exception_ptr Roster::cause(int rank) const {
  const MutexLock lock(mutex_);
  const auto found =
      std::find_if(causes_.begin(), causes_.end(), [&](const Cause& each) { return each.rank == rank; });
  return found == causes_.end() ? nullptr : found->error;
}

std::optional<Departure> Roster::consequence(int rank) const {
  const int gone = failed_.load();
  if (gone == kAnyRank || survives(rank)) return std::nullopt;
  const MutexLock lock(mutex_);
  const Departure& first = departures_[at(gone)];
  return Departure{true, first.why, first.culprit >= 0 ? first.culprit : gone};
}

int Roster::whom(const MessageWait& wait) const {
  if (failed(wait.rank)) return wait.rank;
  return wait.peer == kAnyRank || here(wait.peer) ? failed_.load() : wait.peer;
}

void Roster::give_up(const MessageWait& wait, const std::string& more) const {
  const auto [rank, peer, tag] = wait;
  if (interrupted()) throw Interrupted("rank " + std::to_string(rank) + ": the run was interrupted");
  const int gone = whom(wait);
  TACIT_CHECK(gone != kAnyRank, "nobody has left while " + describe_wait(rank, peer, tag));
  const MutexLock lock(mutex_);
  Departure how = departures_[at(gone)];
  if (how.why.empty()) how.why = "it is failing";
  throw loss(rank, gone, how, describe_wait(rank, peer, tag) + more);
}

}  // namespace tacit
