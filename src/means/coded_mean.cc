// SPDX-License-Identifier: MIT
// The compressed mean, with what it needs of a worker. A gradient that leaves in buckets is several of them: what is
// compressed together must be there together, so that a tensor belongs to the bucket in which its first value lies, which
// is the last of it to be computed.
#include <utility>
#include <vector>

#include "means/all_pending.h"
#include "means/compressed_mean.h"
#include "means/last_rate.h"
#include "means/make_mean.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

class CodedMean final : public Mean {
 public:
  CodedMean(Worker& w, const MeanOptions& options, const MeanCodec& codec, std::span<const Slice> buckets)
      : options_(options) {
    const bool whole = codec.up.whole_model && !codec.up.by_bucket;
    if (whole || buckets.empty()) {
      add_group(w, codec, {0, w.params().size()});
    } else {
      for (const Slice& each : buckets) add_group(w, codec, each);
    }
  }

  bool exact() const override { return false; }
  void mean(Worker& w, FloatView x) override {
    AllPending begun(std::exchange(begun_, {}));  // its end waits where what follows throws
    for (Rest each : rest(w)) each.group->core.mean(w.comm(), x, each.step);
    begun.wait();
    rate_.remember(w.lr());
  }
  std::unique_ptr<Pending> start(Worker& w, FloatView x) override {
    auto all = std::exchange(begun_, {});
    all.push_back(w.comm().start([this, x, rest = rest(w), rate = w.lr()](Collectives& comm) {
      for (const Rest& each : rest) each.group->core.mean(comm, x, each.step);
      rate_.remember(rate);  // only now: an exchange that failed leaves what is remembered as it was
    }));
    return all.size() == 1 ? std::move(all[0]) : std::make_unique<AllPending>(std::move(all));
  }
  void begin(Worker& w, Slice part, FloatView x) override {
    if (groups_.size() == 1 || w.size() == 1) return;  // mean() has little to do then
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Group& group = *groups_[i];
      if (group.bucket != part) continue;
      TACIT_CHECK(!std::exchange(group.begun, true), "a part of a mean was begun twice");
      begun_.push_back(w.comm().start(
          [&group, x, step = step(w, i)](Collectives& comm) { group.core.mean(comm, x, step); }));
    }
  }

  void add_unsent(float factor, FloatView x) const override {
    for (const auto& each : groups_) each->core.add_unsent(factor, x);
  }
  void finish(Worker&) override {}
  void save(Worker&, StateWriter& state) override {
    rate_.save(state);
    for (const auto& each : groups_) each->core.save(state);
  }
  void load(Worker&, StateReader& state) override {
    rate_.load(state);
    for (const auto& each : groups_) each->core.load(state);
  }

 private:
  // The tensors that are compressed and sent with one bucket.
  struct Group {
    Group(Slice of, const MeanCodec& codec, const TensorVector& x, const Collectives& comm)
        : bucket(of), core(codec, x, comm) {}
    Slice bucket;
    CompressedMean core;
    bool begun = false;
  };
  struct Rest {
    Group* group;
    MeanStep step;
  };

  void add_group(Worker& w, const MeanCodec& codec, Slice bucket) {
    std::vector<Slice> tensors;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < w.tensors().size(); ++i) {
      if (w.tensors()[i].offset - bucket.offset >= bucket.count) continue;  // before it too
      tensors.push_back(w.tensors()[i]);
      if (!w.rows().empty()) rows.push_back(w.rows()[i]);
    }
    if (!tensors.empty())
      groups_.push_back(
          std::make_unique<Group>(bucket, codec, TensorVector{w.params(), tensors, rows}, w.comm()));
  }

  // The groups that have not begun; the next mean begins with all of them.
  std::vector<Rest> rest(Worker& w) {
    std::vector<Rest> all;
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if (!std::exchange(groups_[i]->begun, false)) all.push_back({groups_[i].get(), step(w, i)});
    return all;
  }
  MeanStep step(Worker& w, std::size_t group) {
    // Differences of weights have their eta in them.
    const bool gradients = options_.sends == Sends::kGradients;
    MeanStep step{w.t(), w.rng(Rng::Use::kRounding), gradients ? rate_.rescale(w.lr()) : 1};
    // Each group has draws of its own; the first has those of a mean in one.
    if (group > 0) step.rng = Rng(step.rng.next() + group, w.rank(), w.t(), Rng::Use::kRounding);
    if (options_.silence) {
      step.workers = options_.silence->workers(w.t());
      step.servers = options_.silence->servers(w.t());
    }
    return step;
  }

  const MeanOptions options_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Pending>> begun_;
  LastRate rate_;
};

}  // namespace

std::unique_ptr<Mean> make_coded_mean(Worker& w, const MeanOptions& options, const MeanCodec& codec,
                                      std::span<const Slice> buckets) {
  return std::make_unique<CodedMean>(w, options, codec, buckets);
}

}  // namespace tacit
