// SPDX-License-Identifier: MIT
// Sending, receiving and waiting. departures.cc has how ranks leave.
#include "transport/mpi/fabric.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "transport/departure.h"
#include "transport/limits.h"
#include "transport/sent.h"
#include "transport/wait_tally.h"

namespace tacit {
namespace {

using Kind = PostHeader::Kind;

// How long a rank rests between two looks once it has looked in vain for a while.
constexpr Seconds kShortestNap{20e-6};
constexpr Seconds kLongestNap{1e-3};

// Looking again and again pays while every rank of this machine has a core of its own. What mpirun binds a process to
// says nothing about that.
Gate::Patience patience_for(int ranks_here) {
  const bool crowded = ranks_here > static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return crowded ? Gate::Patience{0, 50} : Gate::Patience{2000, 50};
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

}  // namespace

// The sending side of cargo.
class MpiFabric::ShipmentOperation final : public Operation {
 public:
  ShipmentOperation(MpiFabric& fabric, std::shared_ptr<Shipment> shipment)
      : fabric_(fabric), shipment_(std::move(shipment)) {}
  ShipmentOperation(const ShipmentOperation&) = delete;
  ShipmentOperation& operator=(const ShipmentOperation&) = delete;
  ~ShipmentOperation() override { fabric_.give_up(*shipment_); }

  Arrival wait() override {
    if (!shipment_->done.load()) {
      Blocked blocked;
      fabric_.wait(shipment_->peer, shipment_->tag, shipment_->done);
      blocked.under_way_since(shipment_->begun);
    }
    return {shipment_->peer, shipment_->tag, shipment_->data};
  }
  bool ready_by(Deadline deadline) override {
    return fabric_.ready_by(shipment_->peer, shipment_->tag, shipment_->done, deadline);
  }
  bool ready() override { return fabric_.ready(shipment_->peer, shipment_->tag, shipment_->done); }

 private:
  MpiFabric& fabric_;
  const std::shared_ptr<Shipment> shipment_;
};

MpiFabric::MpiFabric(std::optional<MpiLibrary> library, MPI_Comm comm, WaitLimits limits)
    : library_(library),
      comm_(comm),
      rank_(rank_in(comm)),
      limits_(std::move(limits)),
      patience_(patience_for(local_ranks(comm))),
      ledger_(size_of(comm), rank_),
      inbox_(rank_, ledger_, *this),
      roster_(size_of(comm)),
      peers_(static_cast<std::size_t>(size_of(comm))),
      post_(std::make_unique<MpiPost>(comm)),
      cargo_(std::make_unique<MpiCargo>(comm, inbox_)) {}

// --- what this rank does

Request MpiFabric::isend(int peer, Tag tag, ConstBytes data) {
  roster_.check(peer);
  if (peer == rank_) {
    send_to_self(tag, data);
    return std::make_unique<SentOperation>(peer, tag, data);
  }
  const bool posted = data.size() <= kMostPosted;
  // Cargo costs an offer and its grant.
  ledger_.count_sent(peer, tag.lane(), data.size(), sizeof(PostHeader) * (posted ? 1 : 2));
  PostHeader header{.kind = posted ? Kind::kMessage : Kind::kOffer, .tag = tag.bits(), .length = data.size()};
  const MutexLock lock(mutex_);
  if (posted) {
    if (!left()) post_->send(peer, header, data);
    return std::make_unique<SentOperation>(peer, tag, data);
  }
  auto shipment = std::make_shared<Shipment>(peer, tag, data);
  if (!left()) {
    header.number = cargo_->offer(shipment);
    post_->send(peer, header, {});
  }
  return std::make_unique<ShipmentOperation>(*this, std::move(shipment));
}

void MpiFabric::send_to_self(Tag tag, ConstBytes data) {
  ledger_.count_sent(rank_, tag.lane(), data.size(), 0);
  const MutexLock lock(mutex_);
  const auto message = inbox_.announce(rank_, tag, data.size(), 0);
  copy<std::byte>(data, message->landing);
  message->received = data.size();
  inbox_.complete(message);
  gate_.wake();
}

Request MpiFabric::receive(const Want& want) {
  if (want.peer != kAnyRank) roster_.check(want.peer);
  return inbox_.receive(want);
}

// The sender drops a message that has not ended. MPI cannot cancel a send: what was granted must end, and what was not
// leaves from a copy.
void MpiFabric::give_up(Shipment& shipment) {
  if (shipment.done.load()) return;
  {
    const MutexLock lock(mutex_);
    if (abandoned_) return;
    if (shipment.requests.empty()) {
      const bool pointless = left() || !roster_.here(shipment.peer);
      pointless ? cargo_->forget(shipment) : cargo_->keep_copy(shipment);
      return;
    }
  }
  // The receiver may be waiting for us in turn, so say first that nothing more comes, which ends its wait.
  if (std::uncaught_exceptions() > 0) fail(nullptr);
  const Seconds limit = clock_.now() + kMpiFarewell;
  const auto stuck = [&] { return clock_.now() > limit && roster_.parted(rank_, shipment.peer); };
  poll_until([&] { return shipment.done.load() || stuck(); }, kNever);
  if (!shipment.done.load()) abandon(nullptr);
}

// --- waiting

// Looks until over() or the deadline; returns over(), which must not lock.
template <class Over>
bool MpiFabric::poll_until(const Over& over, Deadline deadline) {
  Seconds nap = kShortestNap;
  for (int idle = 0;; ++idle) {
    if (over()) return true;
    bool moved = false;
    {
      const MutexLock lock(mutex_);
      moved = poll();
    }
    if (over()) return true;
    const Seconds now = clock_.now();
    if (now >= deadline) return false;
    if (moved) {
      idle = 0;
      nap = kShortestNap;
    } else if (idle < patience_.spins) {
      spin_pause();
    } else if (idle < patience_.spins + patience_.yields) {
      sched_yield();
    } else {
      gate_.wait_until(over, {}, std::min(deadline, now + nap));
      nap = std::min(2 * nap, kLongestNap);
    }
  }
}

void MpiFabric::wait(int peer, Tag tag, const std::atomic<bool>& done) {
  const MessageWait wait{rank_, peer, tag};
  const auto over = [&] { return done.load() || roster_.hopeless(wait); };
  wait_within(limits_, clock_, wait, [&](Deadline deadline) { return poll_until(over, deadline); });
  if (!done.load()) roster_.give_up(wait);
}

bool MpiFabric::ready_by(int peer, Tag tag, const std::atomic<bool>& done, Deadline deadline) {
  return poll_until([&] { return ready(peer, tag, done); }, deadline);
}

void MpiFabric::wait_any(std::span<Operation* const> any) {
  poll_until([&] { return any_ready(any); }, kNever);
}

// The memory in which a message lands is about to be gone. Nobody looks meanwhile; MPI lets go of what it has not begun
// to fill and ends what it has.
void MpiFabric::between_reads(int peer, const std::function<void()>& fn) {
  const MutexLock lock(mutex_);
  if (abandoned_ || peer == rank_) return fn();
  cargo_->pause(peer);
  const Seconds limit = clock_.now() + kMpiFarewell;
  while (cargo_->filling(peer)) {
    if (clock_.now() > limit && roster_.parted(rank_, peer)) {
      say_goodbye(failure(nullptr));
      abandoned_ = true;
      return fn();
    }
    sched_yield();
  }
  fn();
  if (cargo_->homeless(peer)) {  // a part of a message has no place to go
    say_goodbye(failure(std::make_exception_ptr(std::bad_alloc())));
    abandoned_ = true;
    return;
  }
  cargo_->resume(peer);
}

// --- what peers do

bool MpiFabric::poll() {
  if (abandoned_) return false;
  bool moved =
      post_->poll([this](int from, const PostHeader& header, ConstBytes body)
                      TACIT_THREAD_ANNOTATION(no_thread_safety_analysis) { on_post(from, header, body); });
  moved = cargo_->poll() || moved;
  if (goodbyes_ > 0) moved = settle_goodbyes() || moved;
  if (moved) gate_.wake();
  return moved;
}

void MpiFabric::on_post(int from, const PostHeader& header, ConstBytes body) {
  Peer& peer = peer_at(from);
  switch (header.kind) {
    case Kind::kMessage:
    case Kind::kOffer:
      return on_message(from, header, body);
    case Kind::kGrant:
      if (left()) return;  // the goodbye has said that this one comes too late
      ++peer.grants_got;
      return cargo_->granted(header.number);
    case Kind::kGoodbye:
      peer.goodbye = Departure{
          header.tag != 0, {reinterpret_cast<const char*>(body.data()), body.size()}, header.culprit};
      peer.goodbye_at = clock_.now();
      ++goodbyes_;
      return cargo_->expect_only(from, header.number);
    case Kind::kSilent:
      somebody_silent_ = true;
      [[fallthrough]];
    case Kind::kGone:
      peer.gone = true;
      return;
  }
  throw Bug("a post of no known kind came from rank " + std::to_string(from));
}

void MpiFabric::on_message(int from, const PostHeader& header, ConstBytes body) {
  const bool posted = header.kind == Kind::kMessage;
  if (!posted && left()) return;  // the goodbye tells its sender
  const std::optional<Tag> tag = Tag::from_bits(header.tag);
  TACIT_CHECK(tag && (!posted || header.length == body.size()), "a post is what its header says");
  const auto message = inbox_.announce(from, *tag, header.length, sizeof header * (posted ? 1 : 2));
  if (posted) {
    copy<std::byte>(body, message->landing);
    message->received = body.size();
    inbox_.complete(message);
  } else {
    cargo_->expect(message, header.number, peer_at(from).grants_given++);
    post_->send(from, {.kind = Kind::kGrant, .number = header.number}, {});
  }
}

}  // namespace tacit
