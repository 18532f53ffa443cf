// SPDX-License-Identifier: MIT
// Messages between simulated ranks, and where they wait.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/scheduler.h"
#include "tacit/core/views.h"
#include "transport/matcher.h"

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

class ReceiveOperation;

// What waits at one rank.
struct Mailbox {
  explicit Mailbox(std::size_t ranks) : under_way(ranks), given_up(ranks) {}
  Matcher<Message, ReceiveOperation> matcher{};
  std::vector<std::uint32_t> under_way;  // messages to this rank, by sender
  std::vector<bool> given_up;  // senders whose silence was too long: nobody waits for what is under way
};

}  // namespace tacit::sim
