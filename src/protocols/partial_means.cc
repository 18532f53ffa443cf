// SPDX-License-Identifier: MIT
#include "protocols/partial_means.h"

#include <utility>
#include <vector>

#include "protocols/sum_task.h"
#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "transport/wait_tally.h"

namespace tacit {

// What a rank has given, until a mean takes it, and the means that it has run, until its trainer takes them.
class PartialMeans::TakenPart final : public SumPart {
 public:
  TakenPart(Tasks& tasks, ConstFloatView x, std::span<const Slice> buckets)
      : buckets_(buckets.begin(), buckets.end()), ready_(tasks), unsent_(x), means_(tasks), spare_(tasks) {
    if (buckets_.empty()) buckets_.push_back({0, x.size()});
  }

  std::span<const Slice> buckets() const { return buckets_; }

  void give(FloatView x, bool /*late*/) override {
    filled_ ? kernels::add(x, unsent_.view()) : unsent_.take(x);
    filled_ = true;
  }

  void begin(FloatView x) override { begun_ = x; }

  void sum(Collectives& beside, std::int64_t number, std::optional<FloatView> /*waiting*/) override {
    std::optional<Buffer> mean = spare_.try_get();
    if (!mean) mean.emplace(unsent_.view());
    const bool filled = std::exchange(filled_, false);
    const auto begun = std::exchange(begun_, std::nullopt);
    if (filled) swap(*mean, unsent_);
    if (!filled && !begun) kernels::fill(0, mean->view());
    for (const Slice& each : buckets_) {
      const FloatView own = part(mean->view(), each);
      if (begun) await_part(number);
      if (begun) filled ? kernels::add(part(*begun, each), own) : copy(part(*begun, each), own);
      beside.mean(own);
    }
    means_.put(std::move(*mean));
  }

  // By the trainer: one part more is ready for this mean.
  void ready(std::int64_t number) { ready_.put(number); }
  // By the trainer: none will be.
  void give_up() { ready_.put(kNever); }

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
  static constexpr std::int64_t kNever = -1;

  // Those of means that had run when the trainer came are passed over.
  void await_part(std::int64_t number) {
    const Blocked idle;
    for (std::int64_t ready = number - 1; ready != number;) {
      ready = ready_.get();
      if (ready == kNever) throw Interrupted("the trainer has ended with a part of its gradient");
    }
  }

  std::vector<Slice> buckets_;
  Channel<std::int64_t> ready_;     // the number of a mean, for every part
  std::optional<FloatView> begun_;  // the trainer's: in the next mean, part by part
  bool filled_ = false;
  Buffer unsent_;  // the sum of what was given, where filled_
  Channel<Buffer> means_;
  Channel<Buffer> spare_;
};

PartialMeans::PartialMeans(Worker& w, std::uint64_t seed)
    : comm_(w.comm()),
      part_(std::make_unique<TakenPart>(w.tasks(), w.gradient(), w.buckets())),
      task_(std::make_unique<SumTask>(comm_, w.tasks(), *part_, Activation::Manner{.seed = seed},
                                      "partial-means")) {}

PartialMeans::~PartialMeans() { part_->give_up(); }

void PartialMeans::begin(FloatView x, Slice part, Activation::By by) {
  TACIT_CHECK(begun_ < part_->buckets().size() && part == part_->buckets()[begun_],
              "parts of a partial mean did not come as they were cut");
  if (begun_++ == 0) task_->begin(x, number_, by);
  part_->ready(number_);
}

void PartialMeans::next(FloatView x, Activation::By by) {
  TACIT_CHECK(begun_ == 0 || begun_ == part_->buckets().size(), "a vector has not begun with all its parts");
  begun_ = 0;
  task_->next(x, number_++, by);
}

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
