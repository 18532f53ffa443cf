// SPDX-License-Identifier: MIT
// How a message travels. A short one is a post: header and body in one MPI message, copied at the sender, so that it is
// done at once, and again where it belongs. A long one is cargo: offered by a post, granted by a post, and then moved
// by MPI from the sender's memory into the receiver's buffer or, where nobody has asked yet or it is borrowed, the
// inbox's.
//
// No thread works in the background. Whoever waits looks, one at a time under one lock, and does what is due for all
// tasks of the rank.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/mutex.h"
#include "tacit/core/error.h"
#include "transport/fabric.h"
#include "transport/gate.h"
#include "transport/mpi/cargo.h"
#include "transport/mpi/library.h"
#include "transport/mpi/post.h"
#include "transport/roster.h"

namespace tacit {

class MpiFabric final : public Fabric, public Endpoint, private Waiter {
 public:
  // Owns comm from here on; finalises the library, where there is one, once all ranks have left well.
  MpiFabric(std::optional<MpiLibrary> library, MPI_Comm comm, WaitLimits limits);
  ~MpiFabric() override;
  MpiFabric(const MpiFabric&) = delete;
  MpiFabric& operator=(const MpiFabric&) = delete;

  // Fabric
  Endpoint& endpoint() override { return *this; }
  void leave(const Departure& how) override;
  std::exception_ptr cause() override { return roster_.cause(rank_); }
  void interrupt() override;

  // Endpoint
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  Clock& clock() override { return clock_; }
  const Ledger& ledger() const override { return ledger_; }
  void fail(const std::exception_ptr& error) override;
  Request isend(int peer, Tag tag, ConstBytes data) override;
  Request irecv(int peer, Tag tag, Bytes into) override { return receive({peer, tag, into, false}); }
  Request iborrow(int peer, Tag tag) override { return receive({peer, tag, {}, true}); }
  void wait_any(std::span<Operation* const> any) override;

  // See abandon_mpi.
  void abandon(const std::exception_ptr& error);

 private:
  class ShipmentOperation;
  struct Peer {
    std::optional<Departure> goodbye;  // heard, and still serving what it was granted before
    Seconds goodbye_at{0};
    std::uint64_t grants_given = 0;  // to its offers
    std::uint64_t grants_got = 0;    // for ours
    bool gone = false;               // is dropping its fabric, or cannot say when it does
  };

  // Waiter
  void wait(int peer, Tag tag, const std::atomic<bool>& done) override;
  bool ready_by(int peer, Tag tag, const std::atomic<bool>& done, Deadline deadline) override;
  bool ready(int peer, Tag tag, const std::atomic<bool>& done) const override {
    return done.load() || roster_.hopeless({rank_, peer, tag});
  }
  void between_reads(int peer, const std::function<void()>& fn) override;

  Request receive(const Want& want);
  void send_to_self(Tag tag, ConstBytes data);
  void give_up(Shipment& shipment);
  Peer& peer_at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  // Has said goodbye.
  bool left() const { return !roster_.here(rank_); }

  template <class Over>
  bool poll_until(const Over& over, Deadline deadline);
  bool poll() TACIT_REQUIRES(mutex_);
  void on_post(int from, const PostHeader& header, ConstBytes body) TACIT_REQUIRES(mutex_);
  void on_message(int from, const PostHeader& header, ConstBytes body) TACIT_REQUIRES(mutex_);
  bool settle_goodbyes() TACIT_REQUIRES(mutex_);
  void say_goodbye(const Departure& how) TACIT_REQUIRES(mutex_);
  void tell_all(PostHeader header, ConstBytes body) TACIT_REQUIRES(mutex_);

  // At the end of a run: polls until a condition on guarded members holds, or until the deadline.
  bool poll_slowly(bool (MpiFabric::*over)(), Deadline deadline);
  bool shipped() TACIT_REQUIRES(mutex_) { return left() || abandoned_ || cargo_->nothing_to_ship(); }
  bool quiet() TACIT_REQUIRES(mutex_) {
    return post_->all_sent() && cargo_->nothing_to_ship() && cargo_->expects_nothing();
  }
  bool parted() TACIT_REQUIRES(mutex_);
  bool all_left() const;
  bool part();

  const std::optional<MpiLibrary> library_;
  MPI_Comm comm_;
  const int rank_;
  const WaitLimits limits_;
  const Gate::Patience patience_;
  RealClock clock_;
  Ledger ledger_;
  Inbox inbox_;
  Gate gate_;      // its lock is taken inside mutex_, never around it
  Roster roster_;  // what this rank knows; a peer whose goodbye is not settled is here

  Mutex mutex_;
  std::vector<Peer> peers_;  // by rank, this one too; guarded by mutex_
  std::unique_ptr<MpiPost> post_ TACIT_GUARDED_BY(mutex_);
  std::unique_ptr<MpiCargo> cargo_ TACIT_GUARDED_BY(mutex_);
  int goodbyes_ TACIT_GUARDED_BY(mutex_) = 0;              // heard and not yet settled
  bool abandoned_ TACIT_GUARDED_BY(mutex_) = false;        // makes no MPI call any more
  bool somebody_silent_ TACIT_GUARDED_BY(mutex_) = false;  // a peer does not either
};

// How long a rank waits for peers where one has failed and may never answer.
inline constexpr Seconds kMpiFarewell{10};

}  // namespace tacit
