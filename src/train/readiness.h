// SPDX-License-Identifier: MIT
// Which parts of a gradient are final, and which of them a strategy has been told of (Strategy::ready).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tacit/core/views.h"
#include "tacit/strategy/registry.h"
#include "tacit/world/world.h"
#include "topology/buckets.h"

namespace tacit {

// Floats in a bucket of a gradient with so many parameters, by what a user wrote: `256KiB`, `1MB`, `4096` (bytes),
// `whole`, or `auto`, which is measured (docs/benchmarks.md). `what` is the option's name in what is refused.
std::size_t bucket_floats(std::string_view what, const std::string& text, std::size_t parameters);
// The same for a strategy, which gets its gradients whole where it does not overlap, and with `auto` where that does not
// pay. Throws InvalidConfig, which names it, where it does not overlap and a size is asked for.
std::size_t bucket_floats(std::string_view what, const std::string& text, std::size_t parameters,
                          const StrategyInfo& strategy, bool pays);
// Whether it pays to exchange gradients of this strategy in buckets, in the form that a compressor gives them.
bool overlap_pays(const Strategy& strategy, const std::string& compress);

// Tells of buckets in their order, whatever the order in which a model's parts come, so that all ranks begin the same
// exchanges in the same order. A gradient of one bucket is told of never: Strategy::step has it whole.
//
// Threads  the trainer's task.
class Readiness {
 public:
  using Tell = std::function<void(Slice bucket)>;
  Readiness(std::span<const Slice> tensors, std::size_t floats, Tell tell);

  bool overlaps() const { return buckets_.size() > 1; }
  std::span<const Slice> buckets() const { return buckets_.all(); }
  // The part of a gradient's time that ends with this bucket: a third of it is the forward pass, which fills none, and
  // the rest goes by parameters.
  double share(std::size_t bucket) const;

  // A new gradient, of which nothing is final.
  void begin();
  // This part is, and was not before.
  void add(Slice part);
  // All of it is.
  void finish();
  // How many buckets have been told of; those are no longer the model's.
  std::size_t told() const { return told_; }

 private:
  void tell_next();

  const Buckets buckets_;
  const Tell tell_;
  std::vector<std::size_t> missing_;  // by bucket: floats that are not final
  std::size_t told_ = 0;
};

// The time of one gradient, after it. In virtual time bucket by bucket, each told of when its time has passed; elsewhere
// nothing is told here. The gradient began so much earlier in virtual time.
void spend_compute(Process& me, std::int64_t t, Readiness& readiness, Seconds head_start = Seconds(0));

}  // namespace tacit
