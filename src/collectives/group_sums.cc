// SPDX-License-Identifier: MIT
#include "tacit/collectives/group_sums.h"

#include <algorithm>
#include <utility>

#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/core/thrown.h"

namespace tacit {
namespace {

constexpr std::int64_t kNothingGiven = -1;

// Call::method: a rank has come to a sum; otherwise the round in which the news was sent, from 1, and 0 by our own trainer.
constexpr std::uint32_t kHere = 0xFFFFFFFFU;

// Where this rank is among those that live.
int place_in(const std::vector<int>& living, int rank) {
  return static_cast<int>(std::find(living.begin(), living.end(), rank) - living.begin());
}

}  // namespace

GroupSums::GroupSums(Comm& comm, Tasks& tasks, std::uint32_t service, FloatView x, Groups groups,
                     double patience)
    : comm_(comm),
      service_(service + 1),
      groups_(std::move(groups)),
      patience_(patience),
      clock_(tasks.clock()),
      like_(x),
      returned_(clock_.now()),
      board_(comm, tasks, service, x),
      orders_(tasks),
      sums_(tasks),
      spare_(tasks) {
  agent_ = comm.serve(service_, [this](const Call& call, const std::unique_ptr<Answer>&) { hear(call); });
  running_ = comm.start([this](Comm& behind) { run(behind); });
}

GroupSums::~GroupSums() { orders_.put({Order::Kind::kStop, 0}); }

std::vector<int> GroupSums::group(std::int64_t number) const {
  const std::vector<int> living = comm_.living();
  const int place = place_in(living, comm_.rank());
  // In virtual time a trainer learns that it has crashed like anyone else.
  if (place == static_cast<int>(living.size()))
    throw PeerLost(comm_.rank(), comm_.rank(), "it is in no group any more");
  std::vector<int> members = groups_(place, static_cast<int>(living.size()), number);
  for (int& each : members) each = living[static_cast<std::size_t>(each)];
  return members;
}

// Where ranks may be lost, those that the lost one would have told come to the sum themselves.
void GroupSums::post(int peer, std::uint32_t method, std::int64_t number) {
  try {
    comm_.post(peer, service_, {comm_.rank(), method, number, {}});
  } catch (const PeerLost&) {
    if (!comm_.survives()) throw;
  }
}

// On the agent's task.
void GroupSums::hear(const Call& call) {
  if (call.method == kHere) return count_in(call.step);
  tell(call.step, static_cast<int>(call.method));
}

void GroupSums::tell(std::int64_t number, int first_round) {
  if (number < news_.number) return;  // the newer one is told to all, and activates the older too
  const std::vector<int> living = comm_.living();
  const auto n = static_cast<int>(living.size());
  int rounds = 0;
  while ((1 << rounds) < n) ++rounds;
  if (number > news_.number) {
    news_ = {number, rounds};
    here_.erase(here_.begin(), here_.upper_bound(number));
    orders_.put({Order::Kind::kRun, number});
  }
  const int place = place_in(living, comm_.rank());
  for (int round = first_round; round < news_.told_from; ++round) {
    const int peer = living[static_cast<std::size_t>((place + (1 << round)) % n)];
    post(peer, static_cast<std::uint32_t>(round) + 1, number);
  }
  news_.told_from = std::min(news_.told_from, first_round);
}

void GroupSums::count_in(std::int64_t number) {
  if (number <= news_.number) return;
  if (++here_[number] == comm_.size()) tell(number, 0);
}

// On the background task.
void GroupSums::run(Comm& behind) {
  std::int64_t next = 0;
  for (;;) {
    const Order order = orders_.get();
    if (order.kind == Order::Kind::kStop) return;
    if (order.kind == Order::Kind::kBeginAt) next = order.number;
    for (; order.kind == Order::Kind::kRun && next <= order.number; ++next) {
      try {
        sums_.put(sum(behind, next));
      } catch (...) {
        return sums_.put({.number = next, .error = std::current_exception()});
      }
    }
  }
}

GroupSums::Sum GroupSums::sum(Comm& behind, std::int64_t number) {
  const std::vector<int> living = comm_.living();
  // Others may not know yet and make groups with the lost rank: what we sent them would not fit.
  for (std::size_t i = 0; i < static_cast<std::size_t>(comm_.size()); ++i)
    if (i >= living.size() || living[i] != static_cast<int>(i))
      throw PeerLost(comm_.rank(), static_cast<int>(i), "groups are made without it from now on");
  const std::vector<int> members = group(number);
  const std::shared_ptr<const Snapshot::Copy> given = board_.latest();
  Sum sum{number, blank(), static_cast<int>(members.size()), given->version == number};
  sum.x->take(given->x.view());
  behind.sum_among(members, static_cast<std::uint32_t>(number), sum.x->view());
  return sum;
}

std::unique_ptr<Buffer> GroupSums::blank() {
  auto memory = spare_.try_get().value_or(nullptr);
  return memory ? std::move(memory) : std::make_unique<Buffer>(like_);
}

void GroupSums::take(Sum sum) {
  if (newest_.x) spare_.put(std::move(newest_.x));
  newest_ = std::move(sum);
}

// Until newest_ is that sum, a newer one or an error.
void GroupSums::await(std::int64_t number) {
  // One late step, such as a straggler's, does not change the pace much.
  const Seconds took = clock_.now() - returned_;
  pace_ = pace_ == Seconds(0) ? took : pace_ + 0.1 * (std::min(took, 2 * pace_) - pace_);
  while (auto sum = sums_.try_get()) take(std::move(*sum));
  if (newest_.error || newest_.number >= number) return;
  if (patience_ > 0) {
    post(static_cast<int>(number % comm_.size()), kHere, number);
    if (auto sum = sums_.get_until(clock_.now() + patience_ * pace_)) return take(std::move(*sum));
  }
  orders_.put({Order::Kind::kRun, number});
  post(comm_.rank(), 0, number);
  take(sums_.get());
}

const GroupSums::Sum& GroupSums::next(FloatView x) {
  const std::int64_t number = number_++;
  board_.publish(x, number);
  if (!reading_) {
    await(number);
    returned_ = clock_.now();
    if (!newest_.error) return newest_;
    if (!comm_.survives() || !is<PeerLost>(newest_.error)) std::rethrow_exception(newest_.error);
    reading_ = true;
  }
  read_boards(number, x);
  return newest_;
}

void GroupSums::read_boards(std::int64_t number, FloatView x) {
  take({number, blank(), 1, true});
  newest_.x->take(x);
  std::unique_ptr<Buffer> theirs = blank();
  for (const int peer : group(number)) {
    if (peer == comm_.rank()) continue;
    try {
      board_.read(peer, theirs->view());
    } catch (const PeerLost&) {
      continue;  // the next group is made without it
    }
    kernels::add(theirs->view(), newest_.x->view());
    ++newest_.members;
  }
  spare_.put(std::move(theirs));
}

void GroupSums::refresh(ConstFloatView x) {
  board_.publish(x, kNothingGiven);
  returned_ = clock_.now();
}

void GroupSums::close() {
  comm_.barrier();  // all have had their last sum, and with it every rank has run it
  orders_.put({Order::Kind::kStop, 0});
  running_->wait();
  agent_->stop();
  board_.close();
  comm_.barrier();  // nobody leaves while another one's agent may still tell it something
}

void GroupSums::save(StateWriter& state) const {
  const std::shared_ptr<const Snapshot::Copy> given = board_.latest();
  state.write("group_sums.number", static_cast<std::uint64_t>(number_));
  state.write("group_sums.given", static_cast<std::uint64_t>(given->version));
  state.write("group_sums.x", given->x.view());
}

void GroupSums::load(StateReader& state) {
  number_ = static_cast<std::int64_t>(state.number("group_sums.number"));
  const auto version = static_cast<std::int64_t>(state.number("group_sums.given"));
  std::unique_ptr<Buffer> given = blank();
  state.read("group_sums.x", given->view());
  board_.publish(given->view(), version);
  spare_.put(std::move(given));
  orders_.put({Order::Kind::kBeginAt, number_});
  returned_ = clock_.now();
  comm_.barrier();  // nobody activates a sum before all know which one is next
}

}  // namespace tacit
