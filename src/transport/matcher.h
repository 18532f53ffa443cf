// SPDX-License-Identifier: MIT
// Which message goes to which receive: one rule for all transports.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tacit/transport/endpoint.h"

namespace tacit {

// What a receive asks for.
struct Want {
  int peer;  // or kAnyRank
  Tag tag;
  Bytes into;
  bool borrow;  // without a buffer: the message is lent where it lies

  bool takes(int from, Tag what) const { return what == tag && (peer == kAnyRank || peer == from); }
  bool has_room(std::size_t bytes) const { return !borrow && bytes <= into.size(); }
  // What its wait gives for a message that is there; `rank` is the one that received it. Throws Mismatch for one that is
  // longer than the buffer, of which no byte is read.
  Arrival arrival(int rank, int from, ConstBytes message) const {
    if (borrow) return {from, tag, message};
    if (message.size() > into.size()) refuse_length(rank, {from, tag, message}, into.size());
    return {from, tag, into.first(message.size())};
  }
};

// What waits at one rank: messages that nobody has asked for and receives that nobody has answered. A message goes to
// the receive that has asked for it first, and a receive gets the message that came first, so that what has the same
// (peer, tag) keeps its order. For no (peer, tag) are there both, as long as whoever adds one looks for the other first.
//
// A Message has `from` and `tag`; a Receive has want(). What becomes of the two once they have met is the transport's:
// bytes that are there, that come in piece by piece (Inbox) or that take virtual time.
//
// Threads  one at a time: used under its owner's lock.
template <class Message, class Receive>
class Matcher {
 public:
  using Held = std::shared_ptr<Message>;

  // The receive that a message goes to, if one waits; it does so until it is withdrawn, which cannot fail.
  Receive* first_receive(int from, Tag tag) const {
    const auto found = std::find_if(posted_.begin(), posted_.end(),
                                    [&](const Receive* r) { return r->want().takes(from, tag); });
    return found == posted_.end() ? nullptr : *found;
  }
  // A message that no receive waits for. `later` says of one that is held whether it belongs behind this one; by default
  // none does.
  void hold(Held message) { held_.push_back(std::move(message)); }
  template <class Later>
  void hold(Held message, const Later& later) {
    held_.insert(std::find_if(held_.begin(), held_.end(), later), std::move(message));
  }

  // The first message for a receive; where there is none, the receive waits from now on, until it is withdrawn.
  Held take_or_post(Receive& receive) {
    Held message = take([&](const Held& m) { return receive.want().takes(m->from, m->tag); });
    if (!message) posted_.push_back(&receive);
    return message;
  }
  // False where it did not wait.
  bool withdraw(const Receive& receive) { return std::erase(posted_, &receive) > 0; }

  // The first message that is held of which this is true; null where there is none.
  template <class Is>
  Held take(const Is& is) {
    const auto found = std::find_if(held_.begin(), held_.end(), is);
    if (found == held_.end()) return nullptr;
    Held message = std::move(*found);
    held_.erase(found);
    return message;
  }
  std::vector<Held> take_all() { return std::exchange(held_, {}); }
  // Whether a message is held of which this is true.
  template <class Is>
  bool holds(const Is& is) const {
    return std::any_of(held_.begin(), held_.end(), is);
  }

 private:
  std::vector<Held> held_;
  std::vector<Receive*> posted_;
};

}  // namespace tacit
