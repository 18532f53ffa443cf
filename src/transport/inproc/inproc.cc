// SPDX-License-Identifier: MIT
// How a message travels. A sender that finds a posted receive copies into it at once. Otherwise it queues a
// parcel: small ones carry a copy, so that the sender is done; large ones point at the sender's buffer,
// and the receiver copies or borrows from there before the sender's wait ends.
#include "transport/inproc/inproc.h"

#include <algorithm>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/thrown.h"
#include "tacit/core/error.h"
#include "transport/inproc/mailbox.h"
#include "transport/limits.h"
#include "transport/roster.h"
#include "transport/sent.h"
#include "transport/stuck.h"
#include "transport/wait_tally.h"

namespace tacit {
namespace {

std::size_t at_least_one(int ranks) {
  if (ranks < 1) throw InvalidConfig("a world needs at least 1 rank, not " + std::to_string(ranks));
  return static_cast<std::size_t>(ranks);
}

}  // namespace

class InprocFabric::Hub {
 public:
  Hub(int ranks, WaitLimits limits);

  Endpoint& endpoint(int rank);
  Mailbox& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(boxes_.size()); }
  Clock& clock() { return clock_; }
  const WaitLimits& limits() const { return limits_; }

  void leave(int rank, const Departure& how);
  void fail(int rank, const std::exception_ptr& error);
  void interrupt();
  // One for all ranks: what one knows of another, all do.
  Roster& roster() { return roster_; }

  StuckBook& book(int rank) { return books_[rank]; }
  void survive(int rank) {
    roster_.survive(rank);
    books_.retire();
  }

  // Waits until done, reporting stalls. Throws PeerLost where that is hopeless, Timeout past the limit, Mismatch in a
  // circle of waits. A message is there at once: nothing is under way meanwhile.
  void wait(const MessageWait& what, const std::atomic<bool>& done) {
    if (done.load()) return;
    const Blocked blocked;
    const auto over = [&] { return done.load() || roster_.hopeless(what); };
    Gate& gate = box(what.rank).gate;
    GuardedWait guard(books_, {what.rank, what.peer, what.tag}, done);
    bool looked = false;
    wait_within(limits_, clock_, what, [&](Deadline deadline) {
      if (!std::exchange(looked, true) && gate.look(over, patience_)) return true;
      return guard.until(deadline, clock_, [&](Deadline next) { return gate.wait_until(over, {}, next); });
    });
    if (!done.load()) roster_.give_up(what);
  }
  bool ready_by(const MessageWait& what, const std::atomic<bool>& done, Deadline deadline) {
    const auto over = [&] { return done.load() || roster_.hopeless(what); };
    return box(what.rank).gate.wait_until(over, deadline.count() > 0 ? patience_ : Gate::Patience{},
                                          deadline);
  }
  void wait_any(int rank, std::span<Operation* const> any) {
    box(rank).gate.wait_until([&] { return any_ready(any); }, patience_, kNever);
  }

 private:
  void wake_all() {
    for (Mailbox& box : boxes_) box.gate.wake();
  }

  RealClock clock_;
  WaitLimits limits_;
  Gate::Patience patience_;
  std::deque<Mailbox> boxes_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  StuckBooks books_;
  Roster roster_;
};

namespace {

using Hub = InprocFabric::Hub;

// The sending side of a parcel that points at the sender's buffer.
class ParcelOperation final : public Operation {
 public:
  ParcelOperation(Hub& hub, int peer, std::shared_ptr<Parcel> parcel)
      : hub_(hub), peer_(peer), parcel_(std::move(parcel)) {}
  ParcelOperation(const ParcelOperation&) = delete;
  ParcelOperation& operator=(const ParcelOperation&) = delete;

  ~ParcelOperation() override {
    if (parcel_->released.load()) return;
    {
      Mailbox& box = hub_.box(peer_);
      const MutexLock lock(box.mutex);
      if (box.matcher.take([&](const auto& each) { return each == parcel_; })) return;
    }
    // The receiver is reading our buffer. On the way out of an error it may be waiting for us in turn, so say first
    // that nothing more comes, which ends its wait.
    // In a world that survives, it has left the exchange for the same reason as we.
    if (std::uncaught_exceptions() > 0 && !hub_.roster().survives(parcel_->from))
      hub_.fail(parcel_->from, nullptr);
    while (!parcel_->released.load()) std::this_thread::yield();
  }

  Arrival wait() override {
    hub_.wait(what(), parcel_->released);
    return {peer_, parcel_->tag, parcel_->data};
  }
  bool ready_by(Deadline deadline) override { return hub_.ready_by(what(), parcel_->released, deadline); }
  bool ready() override { return parcel_->released.load() || hub_.roster().hopeless(what()); }

 private:
  MessageWait what() const { return {parcel_->from, peer_, parcel_->tag}; }

  Hub& hub_;
  const int peer_;
  const std::shared_ptr<Parcel> parcel_;
};

}  // namespace

// The receiving side; Mailbox knows it by name.
class ReceiveOperation final : public Operation {
 public:
  ReceiveOperation(Hub& hub, int rank, Ledger& ledger, const Want& want)
      : hub_(hub), rank_(rank), ledger_(ledger), want_(want) {
    if (std::shared_ptr<Parcel> parcel = take_or_post()) accept(std::move(parcel));
  }
  ReceiveOperation(const ReceiveOperation&) = delete;
  ReceiveOperation& operator=(const ReceiveOperation&) = delete;

  ~ReceiveOperation() override {
    if (!arrived_.load()) {
      Mailbox& box = hub_.box(rank_);
      bool withdrawn = false;
      {
        const MutexLock lock(box.mutex);
        withdrawn = box.matcher.withdraw(*this);
      }
      while (!withdrawn && !arrived_.load()) std::this_thread::yield();  // a sender is filling our buffer
    }
    if (loan_) release(*loan_);
  }

  const Want& want() const { return want_; }

  // Called once, by whoever removed this operation from the posted list (or never put it there).
  void fill(int from, ConstBytes data) {
    sender_ = from;
    length_ = data.size();
    if (want_.has_room(length_)) move_bytes(data, want_.into.first(length_));
    finish();
  }
  void accept(std::shared_ptr<Parcel> parcel) {
    if (!want_.borrow) {
      fill(parcel->from, parcel->data);
      release(*parcel);
      return;
    }
    sender_ = parcel->from;
    length_ = parcel->data.size();
    loan_ = std::move(parcel);
    finish();
  }

  Arrival wait() override {
    hub_.wait(what(), arrived_);
    // Counted here and not where the sender fills us: its core would have to fetch our counters.
    if (!std::exchange(counted_, true)) ledger_.count_received(sender_, want_.tag.lane(), length_, 0);
    return want_.arrival(rank_, sender_,
                         loan_ ? loan_->data : ConstBytes(static_cast<const std::byte*>(nullptr), length_));
  }
  bool ready_by(Deadline deadline) override { return hub_.ready_by(what(), arrived_, deadline); }
  bool ready() override { return arrived_.load() || hub_.roster().hopeless(what()); }

 private:
  MessageWait what() const { return {rank_, want_.peer, want_.tag}; }
  std::shared_ptr<Parcel> take_or_post() {
    Mailbox& box = hub_.box(rank_);
    const MutexLock lock(box.mutex);
    return box.matcher.take_or_post(*this);
  }

  void release(Parcel& parcel) {
    parcel.released.store(true);
    hub_.box(parcel.from).gate.wake();
  }

  // The last thing a filling thread does here: the owner may drop the operation right after.
  void finish() {
    Gate& gate = hub_.box(rank_).gate;
    arrived_.store(true);
    gate.wake();
  }

  Hub& hub_;
  const int rank_;
  Ledger& ledger_;
  const Want want_;
  int sender_ = kAnyRank;
  std::size_t length_ = 0;
  std::shared_ptr<Parcel> loan_;
  std::atomic<bool> arrived_{false};  // publishes the three above
  bool counted_ = false;              // the owner's
};

namespace {

class InprocEndpoint final : public Endpoint {
 public:
  InprocEndpoint(Hub& hub, int rank, int ranks) : hub_(hub), rank_(rank), ledger_(ranks, rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_.size(); }
  Clock& clock() override { return hub_.clock(); }
  const Ledger& ledger() const override { return ledger_; }
  void fail(const std::exception_ptr& error) override { hub_.fail(rank_, error); }
  void one_at_a_time(Tag::Lane lane) override { hub_.book(rank_).declare(lane); }
  void survive() override { hub_.survive(rank_); }
  bool survives() const override { return hub_.roster().survives(rank_); }
  void tell_departures(Tag tag) override { hub_.roster().tell_departures(rank_, tag); }
  std::vector<Loss> losses() const override { return hub_.roster().losses(); }
  bool here(int peer) const override { return hub_.roster().here(peer); }

  Request isend(int peer, Tag tag, ConstBytes data) override {
    hub_.roster().check(peer);
    hub_.book(rank_).note_use(tag);
    ledger_.count_sent(peer, tag.lane(), data.size(), 0);
    Mailbox& box = hub_.box(peer);
    const bool eager = data.size() <= kEagerBytes;
    std::shared_ptr<Parcel> parcel;
    ReceiveOperation* receiver = nullptr;
    {
      const MutexLock lock(box.mutex);
      receiver = box.matcher.first_receive(rank_, tag);
      if (receiver == nullptr || receiver->want().borrow) {
        parcel = std::make_shared<Parcel>(rank_, tag, data);
        if (eager) parcel->keep_copy();
      }
      if (receiver != nullptr) box.matcher.withdraw(*receiver);  // nothing throws from here on
      if (receiver == nullptr) box.matcher.hold(parcel);
    }
    if (receiver != nullptr && parcel == nullptr) receiver->fill(rank_, data);
    if (receiver != nullptr && parcel != nullptr) receiver->accept(parcel);
    if (eager || parcel == nullptr) return std::make_unique<SentOperation>(peer, tag, data);
    return std::make_unique<ParcelOperation>(hub_, peer, std::move(parcel));
  }

  Request irecv(int peer, Tag tag, Bytes into) override { return receive({peer, tag, into, false}); }
  Request iborrow(int peer, Tag tag) override { return receive({peer, tag, {}, true}); }
  void wait_any(std::span<Operation* const> any) override { hub_.wait_any(rank_, any); }

 private:
  Request receive(const Want& want) {
    if (want.peer != kAnyRank) hub_.roster().check(want.peer);
    hub_.book(rank_).note_use(want.tag);
    return std::make_unique<ReceiveOperation>(hub_, rank_, ledger_, want);
  }

  Hub& hub_;
  const int rank_;
  Ledger ledger_;
};

}  // namespace

InprocFabric::Hub::Hub(int ranks, WaitLimits limits)
    : limits_(checked(std::move(limits))),
      patience_(inproc_patience(ranks)),
      boxes_(at_least_one(ranks)),
      books_(ranks, limits_.stall),
      roster_(ranks, [this](int gone, int to, Tag tag) { endpoint(gone).isend(to, tag, {}); }) {
  for (int rank = 0; rank < ranks; ++rank)
    endpoints_.push_back(std::make_unique<InprocEndpoint>(*this, rank, ranks));
}

Endpoint& InprocFabric::Hub::endpoint(int rank) { return *endpoints_.at(static_cast<std::size_t>(rank)); }

void InprocFabric::Hub::leave(int rank, const Departure& how) {
  if (roster_.mark(rank, how)) wake_all();
}

void InprocFabric::Hub::fail(int rank, const std::exception_ptr& error) {
  if (error && !roster_.blame(rank, error)) return;
  leave(rank, {true, error ? "its agent failed: " + describe(error) : ""});
}

void InprocFabric::Hub::interrupt() {
  roster_.interrupt();
  wake_all();
}

InprocFabric::InprocFabric(int ranks, WaitLimits limits)
    : hub_(std::make_unique<Hub>(ranks, std::move(limits))) {}
InprocFabric::~InprocFabric() = default;
Endpoint& InprocFabric::endpoint(int rank) { return hub_->endpoint(rank); }
void InprocFabric::leave(int rank, Leave how, const std::string& why) {
  hub_->leave(rank, {how == Leave::kFailed, why});
}
std::exception_ptr InprocFabric::cause(int rank) { return hub_->roster().cause(rank); }
void InprocFabric::interrupt() { hub_->interrupt(); }

}  // namespace tacit
