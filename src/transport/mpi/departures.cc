// SPDX-License-Identifier: MIT
// How ranks leave. A goodbye is a post, so it comes after everything that was posted before; it says how many grants
// its sender has seen, so that its receiver knows which cargo still comes. A rank drops its fabric with all others, or
// a few seconds after one has failed: a process that ends takes its MPI with it, and mpirun ends the rest, among them
// one whose account waits for a slow disk.
#include <algorithm>
#include <utility>

#include "transport/departure.h"
#include "transport/mpi/fabric.h"

namespace tacit {

namespace {

// How long a rank lets others give their account, on a slow disk as well, where it cannot hear that they have.
constexpr Seconds kPatience{5};
// How long peers have to take a rank's last words, where they may not listen; and mpirun to read what was said, because
// what is in its pipes when it ends the others is lost.
constexpr Seconds kMoment{0.5};

}  // namespace

using Kind = PostHeader::Kind;

void MpiFabric::fail(const std::exception_ptr& error) {
  const MutexLock lock(mutex_);
  if (error && !roster_.blame(rank_, error)) return;
  say_goodbye(agent_failure(error));
}

void MpiFabric::abandon(const std::exception_ptr& error) {
  {
    const MutexLock lock(mutex_);
    if (abandoned_) return;
    say_goodbye(failure(error));
    tell_all({.kind = Kind::kSilent}, {});
  }
  for (const Seconds limit = clock_.now() + kMoment; clock_.now() < limit;) {
    const MutexLock lock(mutex_);
    if (abandoned_ || post_->all_sent()) break;
    poll();
  }
  const MutexLock lock(mutex_);
  abandoned_ = true;
}

void MpiFabric::interrupt() {
  roster_.interrupt();
  gate_.wake();
}

// A peer has left once the last of what it still serves is here.
bool MpiFabric::settle_goodbyes() {
  bool settled = false;
  for (int each = 0; each < size(); ++each) {
    Peer& peer = peer_at(each);
    if (!peer.goodbye || (cargo_->expects(each) && clock_.now() < peer.goodbye_at + kMpiFarewell)) continue;
    roster_.mark(each, *peer.goodbye);
    peer.goodbye.reset();
    --goodbyes_;
    settled = true;
  }
  return settled;
}

void MpiFabric::tell_all(PostHeader header, ConstBytes body) {
  for (int each = 0; each < size(); ++each) {
    if (each == rank_) continue;
    if (header.kind == Kind::kGoodbye) header.number = peer_at(each).grants_got;
    post_->send(each, header, body);
  }
}

void MpiFabric::say_goodbye(const Departure& how) {
  if (!roster_.mark(rank_, how)) return;
  gate_.wake();
  if (abandoned_) return;
  cargo_->forget_offers();
  const ConstBytes why = std::as_bytes(std::span(how.why)).first(std::min(how.why.size(), kMostPosted));
  tell_all(
      {.kind = Kind::kGoodbye, .culprit = how.culprit, .tag = how.failed ? 1U : 0U, .length = why.size()},
      why);
}

void MpiFabric::leave(const Departure& how) {
  // Sends that were given up leave from copies, and a receive may have been promised one.
  if (!how.failed) poll_slowly(&MpiFabric::shipped, clock_.now() + kMpiFarewell);
  const MutexLock lock(mutex_);
  say_goodbye(how);
  poll();
}

bool MpiFabric::poll_slowly(bool (MpiFabric::*over)(), Deadline deadline) {
  constexpr Seconds kNap{200e-6};
  for (;;) {
    {
      const MutexLock lock(mutex_);
      poll();
      if ((this->*over)()) return true;
    }
    if (clock_.now() >= deadline) return false;
    clock_.sleep(kNap);
  }
}

bool MpiFabric::parted() {
  if (abandoned_) return true;
  const auto gone = [&](const Peer& peer) { return peer.gone || &peer == &peer_at(rank_); };
  return quiet() && goodbyes_ == 0 && std::all_of(peers_.begin(), peers_.end(), gone);
}

bool MpiFabric::all_left() const {
  for (int each = 0; each < size(); ++each)
    if (roster_.here(each)) return false;
  return true;
}

// Waits until all ranks are about to drop their fabrics. True where all have left well. Where one has failed, others
// may never say that they are.
bool MpiFabric::part() {
  {
    const MutexLock lock(mutex_);
    if (abandoned_) return false;
    tell_all({.kind = Kind::kGone}, {});
  }
  const Seconds start = clock_.now();
  Seconds mark_at = limits_.stall;
  while (!poll_slowly(&MpiFabric::parted, clock_.now() + Seconds(0.1))) {
    const Seconds now = clock_.now();
    if (now - start >= limits_.timeout) return false;
    if (roster_.anybody_failed() && now - start >= kMpiFarewell) return false;
    if (now - start < mark_at) continue;
    limits_.report("rank " + std::to_string(rank_) + " has ended and waits for the others to end, for " +
                   std::to_string((now - start).count()) + " s so far");
    mark_at *= 2;
  }
  return all_left() && !roster_.anybody_failed();
}

MpiFabric::~MpiFabric() {
  leave({true, "it ended without a word"});
  const bool well = part();
  const MutexLock lock(mutex_);
  const bool in_use = abandoned_ || !quiet();
  if (in_use) {  // by MPI, perhaps
    static_cast<void>(post_.release());
    static_cast<void>(cargo_.release());
  } else {
    post_->close();
  }
  if (!well || in_use) {  // and the process is about to end
    clock_.sleep(in_use || somebody_silent_ ? kPatience : kMoment);
    return;
  }
  MPI_Comm_free(&comm_);
  if (library_) library_->finalize();
}

}  // namespace tacit
