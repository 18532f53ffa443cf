// SPDX-License-Identifier: MIT
// Means with neighbours on a graph, behind the next gradient or at once.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit {

// Whom a rank sends to and from whom it receives. Where every rank has as many of the one as of the other, and all have
// equally many, the mean over all ranks is the same before and after a mix.
struct Links {
  std::vector<int> to;
  std::vector<int> from;
};

// x_i <- (x_i + sum of what came) / (1 + how many came), added in the order of the ranks, so that ranks that mix the same
// vectors end with the same bits.
//
// Cost     one vector to each of `to`; one buffer for each of `from`, and two more.
// Threads  the trainer's task.
class NeighbourMix {
 public:
  explicit NeighbourMix(FloatView like) : like_(like), sent_(like), mix_(like) {}

  // Sends x as it is now, behind the next gradient. All ranks of the graph begin and end alike.
  void begin(Comm& comm, ConstFloatView x, const Links& links) {
    sent_.take(x);
    from_ = links.from;
    while (came_.size() < from_.size()) came_.emplace_back(like_);
    swaps_.clear();
    for (const int peer : links.to) swaps_.push_back({peer, sent_.view(), {}});
    for (std::size_t i = 0; i < from_.size(); ++i) swaps_.push_back({from_[i], {}, came_[i].view()});
    rank_ = comm.rank();
    pending_ = comm.start([this](Collectives& behind) {
      const std::vector<bool> came = behind.swap(swaps_);
      // In a world that survives. A mix without it would be another graph's.
      for (std::size_t i = 0; i < came.size(); ++i)
        if (!came[i]) throw PeerLost(rank_, swaps_[i].peer, "a neighbour whose weights are mixed with ours");
    });
  }
  bool out() const { return pending_ != nullptr; }

  // Waits for what was begun; x <- the mix.
  void end(FloatView x) {
    drop();
    bool first = true;
    const auto add = [&](const Buffer& each) {
      first ? mix_.take(each.view()) : kernels::add(each.view(), mix_.view());
      first = false;
    };
    bool own = false;
    for (const std::size_t i : by_rank()) {
      if (!own && from_[i] > rank_) add(sent_);
      own = own || from_[i] > rank_;
      add(came_[i]);
    }
    if (!own) add(sent_);
    kernels::scale(1.0F / static_cast<float>(from_.size() + 1), mix_.view());
    mix_.give(x);
  }

  // Waits for what was begun, and forgets it.
  void drop() {
    const std::unique_ptr<Pending> ended = std::move(pending_);
    if (ended) ended->wait();
  }

 private:
  std::vector<std::size_t> by_rank() const {
    std::vector<std::size_t> order(from_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return from_[a] < from_[b]; });
    return order;
  }

  const FloatView like_;
  Buffer sent_;  // this, came_ and swaps_ are the exchange's while it is under way
  std::deque<Buffer> came_;
  std::vector<Swap> swaps_;
  std::vector<int> from_;
  int rank_ = 0;
  Buffer mix_;
  std::unique_ptr<Pending> pending_;  // last: it ends before what it uses
};

}  // namespace tacit
