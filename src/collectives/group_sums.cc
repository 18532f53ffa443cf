// SPDX-License-Identifier: MIT
#include "tacit/collectives/group_sums.h"

#include <algorithm>
#include <utility>

#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/core/thrown.h"
#include "transport/wait_tally.h"

namespace tacit {
namespace {

// Call::method: a rank has come to a sum; otherwise the round in which the news was sent, from 1, and 0 by our own
// trainer.
constexpr std::uint32_t kHere = Call::kMethods - 1;

// Where this rank is among those that live.
int place_in(const std::vector<int>& living, int rank) {
  return static_cast<int>(std::find(living.begin(), living.end(), rank) - living.begin());
}

}  // namespace

GroupSums::GroupSums(Comm& comm, Tasks& tasks, FloatView x, Groups groups, Manner manner)
    : comm_(comm),
      groups_(std::move(groups)),
      manner_(manner),
      clock_(tasks.clock()),
      returned_(clock_.now()),
      board_(comm, tasks, x),
      orders_(tasks),
      replies_(tasks),
      tally_(std::make_shared<TaskTally>()),
      own_(x),
      kept_(x),
      work_(x) {
  own_.take(x);
  service_ = comm.serve([this](const Call& call, const std::unique_ptr<Answer>&) { hear(call); });
  beside_ = comm.fork("group-sums");
  running_ = beside_->start([this](Collectives& beside) { run(beside); });
}

GroupSums::~GroupSums() { orders_.put({Order::Kind::kStop}); }

std::vector<int> GroupSums::group(std::int64_t number) const {
  const std::vector<int> living = comm_.living();
  const int place = place_in(living, comm_.rank());
  std::vector<int> members = groups_(place, static_cast<int>(living.size()), number);
  for (int& each : members) each = living[static_cast<std::size_t>(each)];
  return members;
}

// Where ranks may be lost, those that the lost one would have told come to the sum themselves.
void GroupSums::post(int peer, std::uint32_t method, std::int64_t number) {
  try {
    service_->post(peer, {.method = method, .step = number});
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

// --- the background task

void GroupSums::run(Collectives& beside) {
  tally_->publish();
  // Without an order it waits for the trainer, or the trainer for others.
  const auto next_order = [this] {
    const Blocked idle;
    return orders_.get();
  };
  try {
    for (;;) {
      const Order order = next_order();
      if (order.kind == Order::Kind::kStop) return;
      obey(beside, order);
    }
  } catch (...) {
    replies_.put({.error = std::current_exception()});
  }
}

void GroupSums::obey(Collectives& beside, const Order& order) {
  if (order.kind == Order::Kind::kBeginAt) running_number_ = order.number;
  if (order.kind == Order::Kind::kGive) take_in(order);
  if (order.kind == Order::Kind::kReplace) replace(order.x);
  while (order.kind == Order::Kind::kRun && running_number_ <= order.number) sum(beside);
}

// The trainer has come to a sum.
void GroupSums::take_in(const Order& given) {
  const bool late = given.number < running_number_;
  if (!late) waiting_ = given;
  if (manner_.late == Late::kAdd) {
    if (std::exchange(fresh_, false)) add_move(given.x);
    own_.take(given.x);
  } else {
    own_.take(given.x);
    if (std::exchange(fresh_, false)) {
      kernels::add(kept_.view(), given.x);
      kernels::scale(1.0F / static_cast<float>(members_ + 1), given.x);  // W = (Wsum + W') / (S + 1)
    }
  }
  replies_.put({.over = late});
}

// Those who are a moment ahead may have activated the next sum already; then x is a move like any other.
void GroupSums::replace(FloatView x) {
  if (manner_.late == Late::kAdd && std::exchange(fresh_, false)) add_move(x);
  own_.take(x);
  replies_.put({.over = true});
}

// W = Wsum/S + (W' - before)
void GroupSums::add_move(FloatView x) {
  kernels::axpy(-1.0F, kept_.view(), x);
  kernels::add(own_.view(), x);
}

// Runs the next one.
void GroupSums::sum(Collectives& beside) {
  const std::vector<int> living = comm_.living();
  // Others may not know yet and make groups with the lost rank: what we sent them would not fit.
  for (std::size_t i = 0; i < static_cast<std::size_t>(comm_.size()); ++i)
    if (i >= living.size() || living[i] != static_cast<int>(i))
      throw PeerLost(comm_.rank(), static_cast<int>(i), "groups are made without it from now on");
  const std::int64_t number = running_number_++;
  const std::vector<int> members = group(number);
  members_ = static_cast<int>(members.size());
  work_.take(own_.view());
  beside.sum_among(members, static_cast<std::uint32_t>(number), work_.view());

  const bool in_time = waiting_ && waiting_->number == number;
  const bool keep_sum = manner_.late == Late::kMean && !in_time;
  if (!keep_sum) kernels::scale(1.0F / static_cast<float>(members_), work_.view());  // W = Wsum / S
  if (in_time) work_.give(waiting_->x);
  if (keep_sum) swap(kept_, work_);
  if (manner_.late == Late::kAdd) {
    swap(own_, work_);
    if (!in_time && !fresh_) swap(kept_, work_);
  }
  fresh_ = !in_time;
  if (in_time) {
    waiting_.reset();
    replies_.put({.over = true});
  }
}

// --- the trainer

// Until x is the mean, or an error says why not.
GroupSums::Reply GroupSums::await(FloatView x, std::int64_t number) {
  // One late step, such as a straggler's, does not change the pace much.
  const Seconds took = clock_.now() - returned_;
  pace_ = pace_ == Seconds(0) ? took : pace_ + 0.1 * (std::min(took, 2 * pace_) - pace_);
  orders_.put({Order::Kind::kGive, number, x});
  const BlockedBehind blocked(*tally_);
  const Reply given = replies_.get();
  if (given.over || given.error) return given;
  if (manner_.patience > 0) {
    post(static_cast<int>(number % comm_.size()), kHere, number);
    if (auto reply = replies_.get_until(clock_.now() + manner_.patience * pace_)) return *reply;
  }
  orders_.put({Order::Kind::kRun, number});
  post(comm_.rank(), 0, number);
  return replies_.get();
}

// False where a rank was lost, and from now on boards are read.
bool GroupSums::settled(const Reply& reply) {
  returned_ = clock_.now();
  if (!reply.error) return true;
  if (!comm_.survives() || !is<PeerLost>(reply.error)) std::rethrow_exception(reply.error);
  reading_ = true;
  return false;
}

void GroupSums::next(FloatView x) {
  const std::int64_t number = number_++;
  board_.publish(x, number);
  if (reading_ || !settled(await(x, number))) read_boards(number, x);
}

// The task has ended, with the error that brought us here: its memory is free.
void GroupSums::read_boards(std::int64_t number, FloatView x) {
  int members = 1;
  for (const int peer : group(number)) {
    if (peer == comm_.rank()) continue;
    try {
      board_.read(peer, work_.view());
    } catch (const PeerLost&) {
      continue;  // the next group is made without it
    }
    kernels::add(work_.view(), x);
    ++members;
  }
  kernels::scale(1.0F / static_cast<float>(members), x);
}

void GroupSums::refresh(FloatView x) {
  board_.publish(x, number_);
  if (reading_) return;
  orders_.put({Order::Kind::kReplace, 0, x});
  settled(replies_.get());
}

void GroupSums::close() {
  comm_.barrier();  // all have had their last sum, and with it every rank has run it
  orders_.put({Order::Kind::kStop});
  running_->wait();
  service_->stop();
  board_.close();
  comm_.barrier();  // nobody leaves while another one's agent may still tell it something
}

// Between the barriers no rank has activated a sum that another one has not passed: the task is idle.
void GroupSums::save(StateWriter& state) const {
  comm_.barrier();
  state.write("group_sums.number", static_cast<std::uint64_t>(number_));
  state.write("group_sums.x", own_.view());
  comm_.barrier();
}

void GroupSums::load(StateReader& state) {
  number_ = static_cast<std::int64_t>(state.number("group_sums.number"));
  state.read("group_sums.x", own_.view());
  board_.publish(own_.view(), number_);
  orders_.put({Order::Kind::kBeginAt, number_});
  returned_ = clock_.now();
  comm_.barrier();  // nobody activates a sum before all know which one is next
}

}  // namespace tacit
