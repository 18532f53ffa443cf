// SPDX-License-Identifier: MIT
#include "protocols/group_sums.h"

#include <utility>

#include "protocols/kept_part.h"
#include "protocols/sum_task.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit {

GroupSums::GroupSums(Comm& comm, Tasks& tasks, FloatView x, Groups groups, Manner manner)
    : comm_(comm),
      reading_(comm.disturbed()),
      board_(comm, tasks, x),
      part_(std::make_unique<KeptPart>(comm, std::move(groups), manner.late, x)),
      task_(std::make_unique<SumTask>(comm, tasks, *part_, Activation::Manner{.patience = manner.patience},
                                      "group-sums")) {}

GroupSums::~GroupSums() = default;

void GroupSums::rejoin(std::int64_t made, ConstFloatView x) {
  number_ = made;
  board_.publish(x, number_);
}

// False where a rank was lost, and from now on boards are read.
bool GroupSums::done(const std::function<void(SumTask&)>& job) {
  if (reading_) return false;
  try {
    job(*task_);
    return true;
  } catch (const PeerLost&) {
    if (!comm_.survives()) throw;
    reading_ = true;
    return false;
  }
}

void GroupSums::next(FloatView x) {
  const std::int64_t number = number_++;
  board_.publish(x, number);
  if (!done([&](SumTask& task) { task.next(x, number, Activation::By::kFirst); })) read_boards(number, x);
}

// The task has ended, with the error that brought us here: its memory is free.
void GroupSums::read_boards(std::int64_t number, FloatView x) {
  int members = 1;
  for (const int peer : part_->group(number)) {
    if (peer == comm_.rank()) continue;
    try {
      board_.read(peer, part_->room());
    } catch (const PeerLost&) {
      continue;  // the next group is made without it
    }
    kernels::add(part_->room(), x);
    ++members;
  }
  kernels::scale(1.0F / static_cast<float>(members), x);
}

void GroupSums::refresh(FloatView x) {
  board_.publish(x, number_);
  done([&](SumTask& task) { task.between([&] { part_->replace(x); }); });
}

void GroupSums::close() {
  comm_.barrier();  // all have had their last sum, and with it every rank has run it
  task_->close();
  board_.close();
  comm_.barrier();  // nobody leaves while another one's agent may still tell it something
}

// Between the barriers no rank has activated a sum that another one has not passed: the task is idle.
void GroupSums::save(StateWriter& state) const {
  comm_.barrier();
  state.write("group_sums.number", static_cast<std::uint64_t>(number_));
  state.write("group_sums.x", ConstFloatView(part_->own()));
  task_->save(state);
  comm_.barrier();
}

void GroupSums::load(StateReader& state) {
  number_ = static_cast<std::int64_t>(state.number("group_sums.number"));
  state.read("group_sums.x", part_->own());
  board_.publish(part_->own(), number_);
  task_->load(state, number_);
  comm_.barrier();  // nobody activates a sum before all know which one is next
}

}  // namespace tacit
