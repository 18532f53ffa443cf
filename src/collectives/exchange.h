// SPDX-License-Identifier: MIT
// Short verbs for collectives: one exchange on one lane, its parts numbered.
#pragma once

#include <algorithm>
#include <span>

#include "tacit/core/kernels.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// One collective of one rank: what its messages are called and how they leave.
class Exchange {
 public:
  Exchange(Endpoint& endpoint, Tag::Channel channel, Tag::Lane lane, std::uint32_t number)
      : endpoint_(endpoint), channel_(channel), lane_(lane), number_(number), rank_(endpoint.rank()) {}

  // The same among some ranks: here they are 0, 1, ... in the order of `group`, which outlives this.
  Exchange among(std::span<const int> group) const {
    Exchange inside = *this;
    inside.group_ = group;
    inside.rank_ = static_cast<int>(std::find(group.begin(), group.end(), endpoint_.rank()) - group.begin());
    return inside;
  }

  int rank() const { return rank_; }
  int size() const { return group_.empty() ? endpoint_.size() : static_cast<int>(group_.size()); }

  Request send(int peer, ConstFloatView x, int part) { return send(peer, bytes_of(x), part); }
  Request send(int peer, ConstBytes x, int part) { return endpoint_.isend(at(peer), tag(part), x); }
  Request receive(int peer, FloatView x, int part) { return receive(peer, bytes_of(x), part); }
  Request receive(int peer, Bytes x, int part) { return endpoint_.irecv(at(peer), tag(part), x); }
  Request borrow(int peer, int part) { return endpoint_.iborrow(at(peer), tag(part)); }

  // Waits for a message that must fill its buffer; throws Mismatch where it does not.
  void finish(Operation& receive, std::size_t bytes) const { check(receive.wait(), bytes); }
  // Waits for a borrowed message of so many floats.
  ConstFloatView floats(Operation& borrowed, std::size_t count) const {
    const Arrival arrival = borrowed.wait();
    check(arrival, count * sizeof(float));
    return floats_in(arrival.data);
  }
  // Adds a borrowed message to x and gives it back, so that its sender may go on.
  void add(Request borrowed, FloatView x) const { kernels::add(floats(*borrowed, x.size()), x); }

 private:
  Tag tag(int part) const { return {channel_, lane_, number_, static_cast<std::uint16_t>(part)}; }
  int at(int peer) const { return group_.empty() ? peer : group_[static_cast<std::size_t>(peer)]; }
  void check(const Arrival& arrival, std::size_t bytes) const;

  Endpoint& endpoint_;
  Tag::Channel channel_;
  Tag::Lane lane_;
  std::uint32_t number_;
  int rank_;
  std::span<const int> group_;  // empty: all ranks
};

}  // namespace tacit
