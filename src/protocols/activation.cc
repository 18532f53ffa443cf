// SPDX-License-Identifier: MIT
#include "protocols/activation.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit {
namespace {

// Call::method: a rank has come; our own trainer waits; otherwise the round in which the news was sent, from 1, and 0
// by our own trainer.
constexpr std::uint32_t kHere = Call::kMethods - 1;
constexpr std::uint32_t kWait = Call::kMethods - 2;

}  // namespace

int place_among(std::span<const int> living, int rank) {
  return static_cast<int>(std::find(living.begin(), living.end(), rank) - living.begin());
}

Activation::Activation(Comm& comm, Manner manner, Start start)
    : comm_(comm), manner_(manner), start_(std::move(start)), left_(comm.clock().now()) {
  service_ = comm.serve(nullptr);
  service_->answer(
      [this](const Call& call, std::unique_ptr<Answer> answer) { hear(call, std::move(answer)); });
}

// One late step, such as a straggler's, does not change the pace much.
void Activation::come() {
  const Seconds took = comm_.clock().now() - left_;
  pace_ = pace_ == Seconds(0) ? took : pace_ + 0.1 * (std::min(took, 2 * pace_) - pace_);
}

void Activation::leave() { left_ = comm_.clock().now(); }

void Activation::save(StateWriter& state) const {
  state.write("activation.seed", manner_.seed);
  state.write("activation.pace", std::bit_cast<std::uint64_t>(pace_.count()));
}
void Activation::load(StateReader& state) {
  manner_.seed = state.number("activation.seed");
  pace_ = Seconds(std::bit_cast<double>(state.number("activation.pace")));
  leave();
}

int Activation::drawn(std::int64_t number) const {
  Rng rng(manner_.seed, Rng::kEveryRank, number, Rng::Use::kPeerChoice);
  return static_cast<int>(rng.below(static_cast<std::uint64_t>(comm_.size())));
}

bool Activation::begin(std::int64_t number, By by) {
  if (by == By::kDrawn && drawn(number) != comm_.rank()) return false;
  if (by == By::kFirst && manner_.patience > 0) return false;
  by == By::kAll ? start_(number) : activate(number);
  return true;
}

void Activation::want(std::int64_t number, By by, const OverWithin& over_within) {
  if (begin(number, by)) return;
  if (by == By::kDrawn) {
    // Of its agent: a wait for news alone would have no end where a rank is lost, and nobody to name where it lasts.
    service_->call(drawn(number), {.method = kWait, .step = number}, {});
    return start_(number);  // the news may be on its way still
  }
  post(static_cast<int>(number % comm_.size()), kHere, number);
  if (!over_within(manner_.patience * pace_)) activate(number);
}

void Activation::activate(std::int64_t number) {
  start_(number);
  post(comm_.rank(), 0, number);
}

void Activation::post(int peer, std::uint32_t method, std::int64_t number) {
  try {
    service_->post(peer, {.method = method, .step = number});
  } catch (const PeerLost&) {
    if (!comm_.survives()) throw;
  }
}

// --- on the agent's task

void Activation::hear(const Call& call, std::unique_ptr<Answer> answer) {
  if (call.method == kHere) return count_in(call.step);
  if (call.method != kWait) return tell(call.step, static_cast<int>(call.method));
  if (call.step <= news_.number) return answer->send({});
  waiting_.push_back({call.step, std::move(answer)});
}

void Activation::tell(std::int64_t number, int first_round) {
  if (number < news_.number) return;  // the newer one is told to all, and activates the older too
  const std::vector<int> living = comm_.living();
  const auto n = static_cast<int>(living.size());
  int rounds = 0;
  while ((1 << rounds) < n) ++rounds;
  if (number > news_.number) {
    news_ = {number, rounds};
    here_.erase(here_.begin(), here_.upper_bound(number));
    start_(number);
    std::erase_if(waiting_, [&](const Waiting& each) {
      if (each.number > number) return false;
      each.answer->send({});
      return true;
    });
  }
  const int place = place_among(living, comm_.rank());
  for (int round = first_round; round < news_.told_from; ++round) {
    const int peer = living[static_cast<std::size_t>((place + (1 << round)) % n)];
    post(peer, static_cast<std::uint32_t>(round) + 1, number);
  }
  news_.told_from = std::min(news_.told_from, first_round);
}

void Activation::count_in(std::int64_t number) {
  if (number <= news_.number) return;
  if (++here_[number] == comm_.size()) tell(number, 0);
}

}  // namespace tacit
