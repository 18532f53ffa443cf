// SPDX-License-Identifier: MIT
// A rank's ways to its peers. A peer that was lost and has come back has a new one; the one before stays until the end,
// because operations may still refer to it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "transport/inbox.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/offers.h"

namespace tacit {

struct Link {
  Link(ConnectionOwner& owner, const Offers::Rank& me, int peer, std::shared_ptr<Stream> stream,
       std::unique_ptr<PeerMemory> memory)
      : connection(owner, me.inbox, me.ledger, peer, std::move(stream)),
        offers(peer, connection, me, std::move(memory)) {}
  // Begins to look after it, and finds out what is possible.
  void start() {
    connection.start();
    offers.invite();
  }
  Connection connection;
  Offers offers;  // after the connection, through which it answers
};

// Threads  at(): any. open() and replace(): one at a time; a link is whole before others see it.
class PeerLinks {
 public:
  PeerLinks(const TcpOptions& options, Inbox& inbox, Ledger& ledger)
      : options_(options), inbox_(inbox), ledger_(ledger), now_(static_cast<std::size_t>(options.size)) {}

  struct Calls {
    std::function<void()> fail;  // Offers::Rank
    std::function<void(int peer, const std::string& why)> lacks_ring;
  };
  // With all that have met.
  void open(ConnectionOwner& owner, Calls calls, std::vector<std::shared_ptr<Stream>> streams);
  // With a peer that has come back; not started yet. What waits to go out to the one before ends.
  Link& replace(int peer, std::shared_ptr<Stream> stream);

  // Null for the rank itself, and for one that was lost before this rank came.
  Link* at(int peer) const { return now_[static_cast<std::size_t>(peer)].load(); }
  int size() const { return static_cast<int>(now_.size()); }
  // Calls fn(peer, connection) for each.
  template <class Fn>
  void each(const Fn& fn) const {
    for (int peer = 0; peer < size(); ++peer)
      if (Link* const link = at(peer)) fn(peer, link->connection);
  }

 private:
  Link& add(int peer, std::shared_ptr<Stream> stream, std::unique_ptr<PeerMemory> memory);

  const TcpOptions& options_;
  Inbox& inbox_;
  Ledger& ledger_;
  ConnectionOwner* owner_ = nullptr;  // from open() on, as the next two
  Calls calls_;
  int local_ = 1;  // ranks whose memory may be shared, for the size of rings
  std::vector<std::unique_ptr<Link>> all_;
  std::vector<std::atomic<Link*>> now_;  // by rank
};

}  // namespace tacit
