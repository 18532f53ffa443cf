// SPDX-License-Identifier: MIT
// Long messages over MPI, from the sender's memory to where the receiver wants them. A message is offered by a post,
// and leaves when the receiver has granted it, which it does as soon as it looks: by then its place is known to MPI.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "transport/inbox.h"

namespace tacit {

// MPI counts in int; a longer message goes in pieces of this size.
inline constexpr std::size_t kPiece = std::size_t{1} << 30U;

// A message on its way out. Shared by the sender's operation and the cargo.
struct Shipment {
  Shipment(int to, Tag about, ConstBytes bytes) : peer(to), tag(about), data(bytes) {}
  const int peer;
  const Tag tag;
  ConstBytes data;                    // the sender's memory, or that of `kept`
  BufferPool::Buffer kept;            // a copy, once the sender has given the message up
  std::vector<MPI_Request> requests;  // not empty: under way
  Seconds begun{0};                   // since then, on the machine's clock
  std::atomic<bool> done{false};      // data is free again
};

// Threads  one at a time. Uses every tag of its communicator but kPostTag.
class MpiCargo {
 public:
  MpiCargo(MPI_Comm comm, Inbox& inbox);
  MpiCargo(const MpiCargo&) = delete;
  MpiCargo& operator=(const MpiCargo&) = delete;

  // Remembers a message that is about to be offered; gives the offer's number.
  std::uint64_t offer(std::shared_ptr<Shipment> shipment);
  void granted(std::uint64_t number);     // by its receiver: it leaves
  void forget(const Shipment& shipment);  // it never leaves
  void forget_offers();                   // what was not granted never leaves
  void keep_copy(Shipment& shipment);     // it leaves from a copy
  bool nothing_to_ship() const { return shipments_.empty(); }

  // Makes room for a message that was offered under this number. `grant` counts what its sender was granted.
  void expect(const std::shared_ptr<Message>& message, std::uint64_t number, std::uint64_t grant);
  // A sender that leaves serves only its first `grants` grants; the rest is no longer expected.
  void expect_only(int from, std::uint64_t grants);
  bool expects(int from) const;
  bool expects_nothing() const { return arrivals_.empty(); }

  // For whoever moves the place where messages from this peer land: pause(), until filling() is false, move, resume().
  void pause(int from);
  bool filling(int from);  // whether MPI is filling such a message; a complete one belongs to the inbox
  void resume(int from);
  bool homeless(int from) const;  // whether there was no place to move one to

  // True where something ended.
  bool poll();

 private:
  struct Piece {
    MPI_Request request = MPI_REQUEST_NULL;
    std::size_t offset = 0;
    std::size_t length = 0;
    bool here = false;
  };
  struct Coming {
    std::shared_ptr<Message> message;
    std::uint64_t number;
    std::uint64_t grant;
    std::vector<Piece> pieces;
  };
  int tag_of(std::uint64_t number) const { return 1 + static_cast<int>(number % most_tags_); }
  void listen(Coming& coming);
  static bool look(Coming& coming);
  bool finish(Coming& coming);

  const MPI_Comm comm_;
  Inbox& inbox_;
  BufferPool pool_;
  std::uint64_t most_tags_;
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Shipment>> shipments_;  // offered or under way, by number
  std::list<Coming> arrivals_;
};

}  // namespace tacit
