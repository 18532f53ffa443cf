// SPDX-License-Identifier: MIT
// Everyone talks to everyone: chunk r of every rank goes straight to rank r, which adds them in rank order
// and sends the sum straight back. Two rounds, the bytes of a ring, no intermediate buffer: rank r writes
// only chunk r while its peers read the others, and a finished chunk comes back only after its owner has read
// ours.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "collectives/algorithms.h"
#include "tacit/core/kernels.h"
#include "topology/chunks.h"

namespace tacit {
namespace {

// What one all-reduce works on at a time, in floats. While the vectors of a few ranks fit into a shared cache, small
// segments keep them there; once they do not, large ones cost fewer rounds (tacit bench allreduce).
constexpr std::size_t kCachedVector = (std::size_t{8} << 20U) / sizeof(float);
constexpr std::size_t kSmallSegment = (std::size_t{1} << 20U) / sizeof(float);
constexpr std::size_t kLargeSegment = (std::size_t{2} << 20U) / sizeof(float);
constexpr std::size_t kPairSegment =
    (std::size_t{4} << 20U) / sizeof(float);  // two ranks hold fewer segments at a time

std::size_t segment_length(std::size_t count, int ranks) {
  if (count <= kCachedVector) return kSmallSegment;
  return ranks == 2 ? kPairSegment : kLargeSegment;
}

// The algorithm on a part of a vector, in steps, so that parts can overlap: while one waits for its sums, the next one's
// chunks are on their way. Every step is called once, in this order.
//
// Lifetime  x stays as it is between the steps. Dropping one on the way out of an error gives its loans back first.
class DirectPart {
 public:
  DirectPart(Exchange with, FloatView x);
  void begin_reduce();            // chunk r of every rank goes to rank r
  void end_reduce(float factor);  // which adds them
  void begin_gather();            // and sends the sum back
  void end_gather();
  void end_sends();  // in place of the gathering: the buffer is the caller's again

 private:
  FloatView chunk_of(int rank) const;

  Exchange with_;
  FloatView x_;
  std::vector<int> peers_;
  std::vector<Request> outgoing_;
  std::vector<Request> incoming_;  // after outgoing_: dropped before it
};

DirectPart::DirectPart(Exchange with, FloatView x)
    : with_(with), x_(x), peers_(peers_of(with.rank(), with.size())) {}

FloatView DirectPart::chunk_of(int rank) const { return part(x_, chunk(x_.size(), with_.size(), rank)); }

void DirectPart::begin_reduce() {
  for (const int peer : peers_) incoming_.push_back(with_.borrow(peer, 0));
  for (const int peer : peers_) outgoing_.push_back(with_.send(peer, chunk_of(peer), 0));
}

void DirectPart::end_reduce(float factor) {
  const FloatView own = chunk_of(with_.rank());
  if (peers_.empty()) return kernels::scale(factor, own);
  std::vector<ConstFloatView> all(static_cast<std::size_t>(with_.size()));
  for (std::size_t i = 0; i < peers_.size(); ++i)
    all[static_cast<std::size_t>(peers_[i])] = with_.floats(*incoming_[i], own.size());
  all[static_cast<std::size_t>(with_.rank())] = own;
  kernels::sum_all(all, factor, own);  // in the order of the ranks, whoever came first
  incoming_.clear();                   // peers may go on
}

void DirectPart::begin_gather() {
  for (const int peer : peers_) incoming_.push_back(with_.receive(peer, chunk_of(peer), 1));
  for (const int peer : peers_) outgoing_.push_back(with_.send(peer, chunk_of(with_.rank()), 1));
}

void DirectPart::end_gather() {
  for (std::size_t i = 0; i < peers_.size(); ++i)
    with_.finish(*incoming_[i], chunk_of(peers_[i]).size_bytes());
  end_sends();
}

void DirectPart::end_sends() {
  for (const Request& out : outgoing_) out->wait();
}

// Cuts parts as they become ready.
class Segments {
 public:
  explicit Segments(const NextPart& parts) : parts_(parts) {}
  // Whether there is another. Asked to wait, it says no only where that was all.
  bool there(bool wait) {
    while (left_.empty()) {
      const auto next = parts_(wait);
      if (!next) return false;
      left_ = *next;
      whole_ = left_.size();
    }
    return true;
  }
  FloatView cut(int ranks) {
    const std::size_t count = std::min(segment_length(whole_, ranks), left_.size());
    const FloatView segment = part(left_, {0, count});
    left_ = part(left_, {count, left_.size() - count});
    return segment;
  }

 private:
  const NextPart& parts_;
  FloatView left_;  // of the part that is being cut
  std::size_t whole_ = 0;
};

}  // namespace

std::vector<int> peers_of(int rank, int n) {
  std::vector<int> peers;
  for (int i = 1; i < n; ++i) peers.push_back((rank + i) % n);
  return peers;
}

void direct_all_reduce(Exchange& with, FloatView x, float factor) {
  DirectPart whole(with, x);
  whole.begin_reduce();
  whole.end_reduce(factor);
  whole.begin_gather();
  whole.end_gather();
}

// Segment by segment, so that what one phase wrote is still in the cache when the next one reads it, and overlapping,
// so that the network always has something to carry (bench/link_usage). Where no part is ready, what is under way comes
// first. No order of ranks dead-locks: whatever a segment waits for, each peer does before it waits for a later one.
void segmented_all_reduce(const std::function<Exchange()>& exchange, const NextPart& parts, float factor) {
  Segments segments(parts);
  std::unique_ptr<DirectPart> gathering;
  std::unique_ptr<DirectPart> reducing;
  for (;;) {
    std::unique_ptr<DirectPart> ahead;
    const bool idle = !reducing && !gathering;
    if (segments.there(idle)) {
      const Exchange with = exchange();
      ahead = std::make_unique<DirectPart>(with, segments.cut(with.size()));
      ahead->begin_reduce();
    } else if (idle) {
      return;
    }
    if (reducing) {
      reducing->end_reduce(factor);
      reducing->begin_gather();
    }
    if (gathering) gathering->end_gather();
    gathering = std::move(reducing);
    reducing = std::move(ahead);
  }
}

void direct_reduce_scatter(Exchange& with, FloatView x, float factor) {
  DirectPart whole(with, x);
  whole.begin_reduce();
  whole.end_reduce(factor);
  whole.end_sends();
}

void direct_all_gather(Exchange& with, FloatView x) {
  DirectPart whole(with, x);
  whole.begin_gather();
  whole.end_gather();
}

}  // namespace tacit
