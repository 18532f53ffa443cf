// SPDX-License-Identifier: MIT
#include "protocols/sum_task.h"

#include <utility>

#include "transport/wait_tally.h"

namespace tacit {

SumTask::SumTask(Comm& comm, Tasks& tasks, SumPart& part, Activation::Manner manner, const std::string& name)
    : part_(part),
      clock_(tasks.clock()),
      orders_(tasks),
      replies_(tasks),
      tally_(std::make_shared<TaskTally>()),
      activation_(comm, manner,
                  [this](std::int64_t number) {
                    orders_.put({Order::Kind::kRun, number});
                  }),
      beside_(comm.fork(name)) {
  running_ = beside_->start([this](Collectives& beside) { run(beside); });
}

SumTask::~SumTask() { orders_.put({Order::Kind::kStop}); }

// --- the task

void SumTask::run(Collectives& beside) {
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

void SumTask::obey(Collectives& beside, const Order& order) {
  if (order.kind == Order::Kind::kBeginAt) running_number_ = order.number;
  if (order.kind == Order::Kind::kGive || order.kind == Order::Kind::kBegin) take_in(order);
  if (order.kind == Order::Kind::kDo) {
    (*order.job)();
    replies_.put({.over = true});
  }
  while (order.kind == Order::Kind::kRun && running_number_ <= order.number) sum(beside);
}

// The trainer has come to a sum. What has only begun when the sum is over is given when all of it is there.
void SumTask::take_in(const Order& given) {
  const bool late = given.number < running_number_;
  if (!late) waiting_ = given;
  if (given.kind == Order::Kind::kGive) part_.give(given.x, late);
  if (given.kind == Order::Kind::kBegin && !late) part_.begin(given.x);
  replies_.put({.over = late});
}

// Runs the next one.
void SumTask::sum(Collectives& beside) {
  const std::int64_t number = running_number_++;
  const bool in_time = waiting_ && waiting_->number == number;
  part_.sum(beside, number, in_time ? std::optional(waiting_->x) : std::nullopt);
  if (!in_time) return;
  waiting_.reset();
  replies_.put({.over = true});
}

// --- the trainer

SumTask::Reply SumTask::reply() {
  const BlockedBehind blocked(*tally_);
  return replies_.get();
}

SumTask::Reply SumTask::await(FloatView x, std::int64_t number, Activation::By by) {
  activation_.come();
  const auto [begun, started] = std::exchange(begun_, {});
  const auto give = [&] {
    orders_.put({Order::Kind::kGive, number, x});
    return reply();
  };
  Reply given = begun ? reply() : give();
  if (begun && given.over) given = give();  // it had begun too late
  if (given.over || given.error) return given;
  std::optional<Reply> early = begun ? replies_.try_get() : std::nullopt;
  if (early || started) return early ? *early : reply();
  activation_.want(number, by, [&](Seconds patience) {
    const BlockedBehind blocked(*tally_);
    early = replies_.get_until(clock_.now() + patience);
    return early.has_value();
  });
  return early ? *early : reply();
}

void SumTask::settle(const Reply& reply) {
  activation_.leave();
  if (reply.error) std::rethrow_exception(reply.error);
}

void SumTask::next(FloatView x, std::int64_t number, Activation::By by) { settle(await(x, number, by)); }

void SumTask::begin(FloatView x, std::int64_t number, Activation::By by) {
  orders_.put({Order::Kind::kBegin, number, x});
  begun_ = {true, activation_.begin(number, by)};
}

void SumTask::between(const std::function<void()>& job) {
  orders_.put({.kind = Order::Kind::kDo, .job = &job});
  settle(replies_.get());
}

void SumTask::load(StateReader& state, std::int64_t next) {
  orders_.put({Order::Kind::kBeginAt, next});
  activation_.load(state);
}

void SumTask::close() {
  orders_.put({Order::Kind::kStop});
  running_->wait();
  activation_.stop();
}

}  // namespace tacit
