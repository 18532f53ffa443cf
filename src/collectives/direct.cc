// SPDX-License-Identifier: MIT
// Everyone talks to everyone: chunk r of every rank goes straight to rank r, which adds them in rank order
// and sends the sum straight back. Two rounds, the bytes of a ring, no intermediate buffer: rank r writes
// only chunk r while its peers read the others, and a finished chunk comes back only after its owner has read
// ours.
#include <span>
#include <vector>

#include "collectives/algorithms.h"
#include "tacit/core/kernels.h"
#include "tacit/topology/chunks.h"

namespace tacit {
namespace {

// Peers of a rank, beginning with its successor, so that not all ranks write to rank 0 first.
std::vector<int> peers_of(int rank, int n) {
  std::vector<int> peers;
  for (int i = 1; i < n; ++i) peers.push_back((rank + i) % n);
  return peers;
}

}  // namespace

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

void direct_some_to_all(Exchange& with, const std::vector<bool>& speakers, std::span<const ConstBytes> out,
                        const Take& take) {
  const auto n = static_cast<std::size_t>(with.size());
  const auto me = static_cast<std::size_t>(with.rank());
  // Declared in this order, as above.
  std::vector<Request> outgoing;
  std::vector<Request> incoming(n);
  const auto peers = peers_of(with.rank(), with.size());
  for (const int peer : peers)
    if (const auto from = static_cast<std::size_t>(peer); speakers[from])
      incoming[from] = with.borrow(peer, 0);
  for (const int peer : peers)
    if (speakers[me]) outgoing.push_back(with.send(peer, out[static_cast<std::size_t>(peer)], 0));
  for (std::size_t rank = 0; rank < n; ++rank) {
    if (!speakers[rank]) continue;
    Request& message = incoming[rank];
    take(static_cast<int>(rank), message ? message->wait().data : out[rank]);
    message.reset();  // its sender may go on
  }
  for (const Request& sent : outgoing) sent->wait();
}

}  // namespace tacit
