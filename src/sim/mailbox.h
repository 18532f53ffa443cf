// SPDX-License-Identifier: MIT
// Messages between simulated ranks, and where they wait.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/scheduler.h"
#include "tacit/core/views.h"

namespace tacit::sim {

constexpr std::size_t kFraming = 24;  // what TCP adds to a message, src/transport/tcp/frame.h

// Owned by the network, the mailbox, and the operations at both ends, of which any may be the last.
struct Message {
  Message(int sender, int receiver, Tag what, Seconds when, ConstBytes bytes)
      : from(sender), to(receiver), tag(what), sent(when), data(bytes) {}
  const int from;
  const int to;
  const Tag tag;
  const Seconds sent;
  ConstBytes data;
  std::vector<std::byte> copy{};  // what data points to, once the sender's buffer is no longer needed
  bool arrived = false;
  Gate done{};  // where the sender waits
  void keep_copy() {
    if (!has_content(data)) return;  // there is nothing to copy, and it stays where it is
    copy.assign(data.begin(), data.end());
    data = copy;
  }
};

// A receive that was posted.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual bool matches(int from, Tag tag) const = 0;
  virtual bool borrows() const = 0;
  // Called by whoever took it off the posted list or never put it there.
  virtual void accept(std::shared_ptr<Message> message) = 0;
};

// What waits at one rank, as in the transport between threads.
struct Mailbox {
  std::deque<std::shared_ptr<Message>> messages;
  std::vector<Receiver*> posted;
  std::vector<std::uint32_t> under_way;  // messages to this rank, by sender
};

}  // namespace tacit::sim
