// SPDX-License-Identifier: MIT
#include "collectives/swap_round.h"

#include <utility>

#include "tacit/core/error.h"

namespace tacit {

SwapRound::SwapRound(Endpoint& endpoint, Unattended& left, Manner manner, Deadline deadline)
    : endpoint_(endpoint), left_(left), manner_(manner), deadline_(deadline) {
  left_.sweep();
}

SwapRound::~SwapRound() {
  if (patient()) return;
  for (Expected& each : expected_)
    if (each.message) left_.add_receive(std::move(each.message));
}

std::size_t SwapRound::expect(int peer, Tag tag) {
  expected_.push_back({peer, endpoint_.iborrow(peer, tag), std::nullopt});
  return expected_.size() - 1;
}

std::size_t SwapRound::expect(int peer, Tag tag, Bytes into) {
  expected_.push_back(
      {peer, patient() ? endpoint_.irecv(peer, tag, into) : endpoint_.iborrow(peer, tag), into});
  return expected_.size() - 1;
}

void SwapRound::send(int peer, Tag tag, ConstBytes data) {
  if (patient()) {
    sent_.push_back(endpoint_.isend(peer, tag, data));
    return;
  }
  // Neighbours often get the same vector.
  if (!copy_ || copied_.data() != data.data() || copied_.size() != data.size())
    copy_ = std::make_shared<KeptBytes>(data);
  copied_ = data;
  left_.add_send(endpoint_.isend(peer, tag, copy_->view()), copy_);
}

std::optional<ConstBytes> SwapRound::take(std::size_t number) {
  Expected& expected = expected_[number];
  if (deadline_ != kNever && !expected.message->ready_by(deadline_)) return std::nullopt;
  try {
    const Arrival arrival = expected.message->wait();
    if (!expected.into) return arrival.data;
    if (arrival.data.size() != expected.into->size())
      refuse_length(endpoint_.rank(), arrival, expected.into->size());
    if (!patient()) copy(arrival.data, *expected.into);
    expected.message.reset();  // its sender may go on
    return ConstBytes(*expected.into);
  } catch (const PeerLost&) {
    // From a peer that is here nothing is missing: it has left a collective because of another's loss.
    const bool alive = endpoint_.here(endpoint_.rank()) && !endpoint_.here(expected.peer);
    if (patient() || !endpoint_.survives() || !alive) throw;
    return std::nullopt;
  }
}

void SwapRound::finish() {
  for (const Request& each : sent_) each->wait();
}

}  // namespace tacit
