// SPDX-License-Identifier: MIT
// How a message travels. A sender that finds a posted receive copies into it at once. Otherwise it queues a
// parcel: small ones carry a copy, so that the sender is done; large ones point at the sender's buffer,
// and the receiver copies or borrows from there before the sender's wait ends.
#include "tacit/transport/inproc.h"

#include <algorithm>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/mutex.h"
#include "tacit/core/thrown.h"
#include "transport/departure_news.h"
#include "transport/inproc/mailbox.h"
#include "transport/limits.h"
#include "transport/sent.h"
#include "transport/stuck.h"
#include "transport/wait_tally.h"

namespace tacit {
namespace {

enum class Presence { kHere, kDone, kFailed };

}  // namespace

class InprocFabric::Hub {
 public:
  Hub(int ranks, WaitLimits limits);

  Endpoint& endpoint(int rank);
  Mailbox& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(boxes_.size()); }
  Clock& clock() { return clock_; }
  const WaitLimits& limits() const { return limits_; }

  void leave(int rank, Presence how, const std::string& why);
  void fail(int rank, const std::exception_ptr& error);
  std::exception_ptr cause(int rank);
  void interrupt();

  StuckBook& book(int rank) { return books_[rank]; }
  void survive(int rank) {
    survives_[static_cast<std::size_t>(rank)].store(true);
    books_.retire();
  }
  bool survives(int rank) const { return survives_[static_cast<std::size_t>(rank)].load(); }
  void tell_departures(int rank, Tag tag) {
    for (const int gone : news_.subscribe({rank, tag})) endpoint(gone).isend(rank, tag, {});
  }
  std::vector<Loss> losses();
  bool here(int rank) const { return presence_[static_cast<std::size_t>(rank)].load() == Presence::kHere; }

  // Whether a rank's wait for this peer has become pointless. Cheap: it is asked on every spin.
  bool hopeless(int rank, int peer, Tag tag) const {
    if (interrupted_.load() || (survives(rank) && !here(rank))) return true;
    if (peer != kAnyRank && !here(peer)) return true;
    if (failed_.load() < 0 || (peer != kAnyRank && !tag.is_collective())) return false;
    return survives(rank) ? peer != kAnyRank : peer == kAnyRank;
  }
  [[noreturn]] void give_up(int rank, int peer, Tag tag);

  // Waits until done or hopeless(), reporting stalls. Throws Timeout past the limit, Mismatch in a circle of waits. A
  // message is there at once: nothing is under way meanwhile.
  void wait(int rank, int peer, Tag tag, const std::atomic<bool>& done) {
    if (done.load()) return;
    const Blocked blocked;
    const auto over = [&] { return done.load() || hopeless(rank, peer, tag); };
    Gate& gate = box(rank).gate;
    GuardedWait guard(books_, {rank, peer, tag}, done);
    bool looked = false;
    wait_within(limits_, clock_, MessageWait{rank, peer, tag}, [&](Deadline deadline) {
      if (!std::exchange(looked, true) && gate.wait_until(over, patience_, {})) return true;
      return guard.until(deadline, clock_, [&](Deadline next) { return gate.wait_until(over, {}, next); });
    });
  }
  template <class Done>
  bool ready_by(int rank, int peer, Tag tag, const Done& done, Deadline deadline) {
    const auto over = [&] { return done() || hopeless(rank, peer, tag); };
    return box(rank).gate.wait_until(over, deadline.count() > 0 ? patience_ : Gate::Patience{}, deadline);
  }
  void wait_any(int rank, std::span<Operation* const> any) {
    box(rank).gate.wait_until([&] { return any_ready(any); }, patience_, kNever);
  }

 private:
  RealClock clock_;
  WaitLimits limits_;
  Gate::Patience patience_;
  std::deque<Mailbox> boxes_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::deque<std::atomic<Presence>> presence_;
  std::atomic<int> failed_{-1};  // a rank that failed, if one did
  std::atomic<bool> interrupted_{false};
  Mutex mutex_;
  std::vector<std::string> why_ TACIT_GUARDED_BY(mutex_);
  std::vector<std::exception_ptr> causes_ TACIT_GUARDED_BY(mutex_);
  std::deque<std::atomic<bool>> survives_;  // by rank
  StuckBooks books_;
  DepartureNews news_;
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
      if (std::erase(box.parcels, parcel_) > 0) return;
    }
    // The receiver is reading our buffer. On the way out of an error it may be waiting for us in turn, so say first
    // that nothing more comes, which ends its wait.
    // In a world that survives, it has left the exchange for the same reason as we.
    if (std::uncaught_exceptions() > 0 && !hub_.survives(parcel_->from)) hub_.fail(parcel_->from, nullptr);
    while (!parcel_->released.load()) std::this_thread::yield();
  }

  Arrival wait() override {
    hub_.wait(parcel_->from, peer_, parcel_->tag, parcel_->released);
    if (!parcel_->released.load()) hub_.give_up(parcel_->from, peer_, parcel_->tag);
    return {peer_, parcel_->tag, parcel_->data};
  }
  bool ready_by(Deadline deadline) override {
    return hub_.ready_by(
        parcel_->from, peer_, parcel_->tag, [&] { return parcel_->released.load(); }, deadline);
  }
  bool ready() override {
    return parcel_->released.load() || hub_.hopeless(parcel_->from, peer_, parcel_->tag);
  }

 private:
  Hub& hub_;
  const int peer_;
  const std::shared_ptr<Parcel> parcel_;
};

}  // namespace

// The receiving side; Mailbox knows it by name.
class ReceiveOperation final : public Operation {
 public:
  // Without a buffer the message is borrowed.
  struct Want {
    int peer;
    Tag tag;
    Bytes into;
    bool borrow;
  };

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
        withdrawn = std::erase(box.posted, this) > 0;
      }
      while (!withdrawn && !arrived_.load()) std::this_thread::yield();  // a sender is filling our buffer
    }
    if (loan_) release(*loan_);
  }

  bool matches(int from, Tag tag) const {
    return tag == want_.tag && (want_.peer == kAnyRank || want_.peer == from);
  }
  bool borrows() const { return want_.borrow; }

  // Called once, by whoever removed this operation from the posted list (or never put it there).
  void fill(int from, ConstBytes data) {
    sender_ = from;
    length_ = data.size();
    if (length_ <= want_.into.size()) move_bytes(data, want_.into.first(length_));
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
    hub_.wait(rank_, want_.peer, want_.tag, arrived_);
    if (!arrived_.load()) hub_.give_up(rank_, want_.peer, want_.tag);
    // Counted here and not where the sender fills us: its core would have to fetch our counters.
    if (!std::exchange(counted_, true)) ledger_.count_received(sender_, want_.tag.lane(), length_, 0);
    if (loan_) return {sender_, want_.tag, loan_->data};
    if (length_ > want_.into.size())
      refuse_length(rank_, {sender_, want_.tag, {static_cast<const std::byte*>(nullptr), length_}},
                    want_.into.size());
    return {sender_, want_.tag, want_.into.first(length_)};
  }
  bool ready_by(Deadline deadline) override {
    return hub_.ready_by(
        rank_, want_.peer, want_.tag, [&] { return arrived_.load(); }, deadline);
  }
  bool ready() override { return arrived_.load() || hub_.hopeless(rank_, want_.peer, want_.tag); }

 private:
  std::shared_ptr<Parcel> take_or_post() {
    Mailbox& box = hub_.box(rank_);
    const MutexLock lock(box.mutex);
    const auto found = std::find_if(box.parcels.begin(), box.parcels.end(),
                                    [&](const auto& p) { return matches(p->from, p->tag); });
    if (found == box.parcels.end()) {
      box.posted.push_back(this);
      return nullptr;
    }
    std::shared_ptr<Parcel> parcel = std::move(*found);
    box.parcels.erase(found);
    return parcel;
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
  bool survives() const override { return hub_.survives(rank_); }
  void tell_departures(Tag tag) override { hub_.tell_departures(rank_, tag); }
  std::vector<Loss> losses() const override { return hub_.losses(); }
  bool here(int peer) const override { return hub_.here(peer); }

  Request isend(int peer, Tag tag, ConstBytes data) override {
    check_peer(peer);
    hub_.book(rank_).note_use(tag);
    ledger_.count_sent(peer, tag.lane(), data.size(), 0);
    Mailbox& box = hub_.box(peer);
    const bool eager = data.size() <= kEagerBytes;
    std::shared_ptr<Parcel> parcel;
    ReceiveOperation* receiver = nullptr;
    {
      const MutexLock lock(box.mutex);
      const auto found =
          std::find_if(box.posted.begin(), box.posted.end(), [&](auto* r) { return r->matches(rank_, tag); });
      if (found != box.posted.end()) receiver = *found;
      if (receiver == nullptr || receiver->borrows()) {
        parcel = std::make_shared<Parcel>(rank_, tag, data);
        if (eager) parcel->keep_copy();
      }
      if (receiver != nullptr) box.posted.erase(found);  // nothing throws from here on
      if (receiver == nullptr) box.parcels.push_back(parcel);
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
  Request receive(const ReceiveOperation::Want& want) {
    if (want.peer != kAnyRank) check_peer(want.peer);
    hub_.book(rank_).note_use(want.tag);
    return std::make_unique<ReceiveOperation>(hub_, rank_, ledger_, want);
  }
  void check_peer(int peer) const {
    TACIT_CHECK(peer >= 0 && peer < hub_.size(), "there is no rank " + std::to_string(peer));
  }

  Hub& hub_;
  const int rank_;
  Ledger ledger_;
};

}  // namespace

InprocFabric::Hub::Hub(int ranks, WaitLimits limits)
    : limits_(checked(std::move(limits))), patience_(inproc_patience(ranks)), books_(ranks, limits_.stall) {
  if (ranks < 1) throw InvalidConfig("a world needs at least 1 rank, not " + std::to_string(ranks));
  boxes_.resize(static_cast<std::size_t>(ranks));
  presence_.resize(static_cast<std::size_t>(ranks));
  why_.resize(static_cast<std::size_t>(ranks));
  causes_.resize(static_cast<std::size_t>(ranks));
  survives_.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    endpoints_.push_back(std::make_unique<InprocEndpoint>(*this, rank, ranks));
}

Endpoint& InprocFabric::Hub::endpoint(int rank) { return *endpoints_.at(static_cast<std::size_t>(rank)); }

void InprocFabric::Hub::leave(int rank, Presence how, const std::string& why) {
  {
    const MutexLock lock(mutex_);
    std::atomic<Presence>& presence = presence_[static_cast<std::size_t>(rank)];
    std::string& reason = why_[static_cast<std::size_t>(rank)];
    if (reason.empty()) reason = why;  // the first reason is the true one
    if (presence.load() != Presence::kHere) return;
    presence.store(how);
    if (how == Presence::kFailed) failed_.store(rank);
  }
  for (Mailbox& box : boxes_) box.gate.wake();
  for (const auto& [to, tag] : news_.leave(rank)) endpoint(rank).isend(to, tag, {});
}

std::vector<Loss> InprocFabric::Hub::losses() {
  std::vector<Loss> losses;
  if (failed_.load() < 0) return losses;
  const MutexLock lock(mutex_);
  for (int rank = 0; rank < size(); ++rank)
    if (presence_[static_cast<std::size_t>(rank)].load() == Presence::kFailed)
      losses.push_back({rank, why_[static_cast<std::size_t>(rank)]});
  return losses;
}

void InprocFabric::Hub::fail(int rank, const std::exception_ptr& error) {
  if (error) {
    const MutexLock lock(mutex_);
    // A rank that has failed already wakes its own agents with PeerLost; that is no cause.
    if (presence_[static_cast<std::size_t>(rank)].load() == Presence::kFailed) return;
    std::exception_ptr& cause = causes_[static_cast<std::size_t>(rank)];
    if (!cause) cause = error;
  }
  leave(rank, Presence::kFailed, error ? "its agent failed: " + describe(error) : "");
}

std::exception_ptr InprocFabric::Hub::cause(int rank) {
  const MutexLock lock(mutex_);
  return causes_[static_cast<std::size_t>(rank)];
}

void InprocFabric::Hub::interrupt() {
  interrupted_.store(true);
  for (Mailbox& box : boxes_) box.gate.wake();
}

void InprocFabric::Hub::give_up(int rank, int peer, Tag tag) {
  if (interrupted_.load()) throw Interrupted("rank " + std::to_string(rank) + ": the run was interrupted");
  const MutexLock lock(mutex_);
  const int gone = peer == kAnyRank || here(peer) ? failed_.load() : peer;
  const std::string& why = why_[static_cast<std::size_t>(gone)];
  throw PeerLost(rank, gone,
                 (why.empty() ? "it is failing" : why) + " (" + describe_wait(rank, peer, tag) + ")");
}

InprocFabric::InprocFabric(int ranks, WaitLimits limits)
    : hub_(std::make_unique<Hub>(ranks, std::move(limits))) {}
InprocFabric::~InprocFabric() = default;
Endpoint& InprocFabric::endpoint(int rank) { return hub_->endpoint(rank); }
void InprocFabric::leave(int rank, Leave how, const std::string& why) {
  hub_->leave(rank, how == Leave::kDone ? Presence::kDone : Presence::kFailed, why);
}
std::exception_ptr InprocFabric::cause(int rank) { return hub_->cause(rank); }
void InprocFabric::interrupt() { hub_->interrupt(); }

}  // namespace tacit
