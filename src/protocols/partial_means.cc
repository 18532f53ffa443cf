// SPDX-License-Identifier: MIT
#include "protocols/partial_means.h"

#include <utility>

#include "protocols/sum_task.h"
#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"

namespace tacit {

// What a rank has given, until a mean takes it, and the means that it has run, until its trainer takes them.
class PartialMeans::TakenPart final : public SumPart {
 public:
  TakenPart(Tasks& tasks, ConstFloatView x) : unsent_(x), means_(tasks), spare_(tasks) {}

  void give(FloatView x, bool /*late*/) override {
    filled_ ? kernels::add(x, unsent_.view()) : unsent_.take(x);
    filled_ = true;
  }

  void sum(Collectives& beside, std::int64_t /*number*/, std::optional<FloatView> /*waiting*/) override {
    std::optional<Buffer> mean = spare_.try_get();
    if (!mean) mean.emplace(unsent_.view());
    std::exchange(filled_, false) ? swap(*mean, unsent_) : kernels::fill(0, mean->view());
    beside.mean(mean->view());
    means_.put(std::move(*mean));
  }

  // By the trainer, at any time.
  bool take(FloatView out) {
    std::optional<Buffer> mean = means_.try_get();
    if (!mean) return false;
    mean->give(out);
    spare_.put(std::move(*mean));
    return true;
  }

  // By the trainer, while the task is idle.
  bool filled() const { return filled_; }
  FloatView unsent() { return unsent_.view(); }
  void set_filled(bool filled) { filled_ = filled; }

 private:
  bool filled_ = false;
  Buffer unsent_;  // the sum of what was given, where filled_
  Channel<Buffer> means_;
  Channel<Buffer> spare_;
};

PartialMeans::PartialMeans(Comm& comm, Tasks& tasks, ConstFloatView x, std::uint64_t seed)
    : comm_(comm),
      part_(std::make_unique<TakenPart>(tasks, x)),
      task_(std::make_unique<SumTask>(comm, tasks, *part_, Activation::Manner{.seed = seed},
                                      "partial-means")) {}

PartialMeans::~PartialMeans() = default;

void PartialMeans::next(FloatView x, Activation::By by) { task_->next(x, number_++, by); }

bool PartialMeans::take(FloatView out) { return part_->take(out); }

bool PartialMeans::unsent() const { return part_->filled(); }

void PartialMeans::close() {
  comm_.barrier();  // all have had their last mean, and with it every rank has run it
  task_->close();
  comm_.barrier();  // nobody leaves while another one's agent may still tell it something
}

// Between the barriers no rank has activated a mean that another one has not passed: the task is idle.
void PartialMeans::save(StateWriter& state) const {
  comm_.barrier();
  state.write("partial_means.number", static_cast<std::uint64_t>(number_));
  state.write("partial_means.filled", static_cast<std::uint64_t>(part_->filled()));
  if (part_->filled()) state.write("partial_means.unsent", ConstFloatView(part_->unsent()));
  task_->save(state);
  comm_.barrier();
}

void PartialMeans::load(StateReader& state) {
  number_ = static_cast<std::int64_t>(state.number("partial_means.number"));
  part_->set_filled(state.number("partial_means.filled") != 0);
  if (part_->filled()) state.read("partial_means.unsent", part_->unsent());
  task_->load(state, number_);
  comm_.barrier();  // nobody activates a mean before all know which one is next
}

}  // namespace tacit
