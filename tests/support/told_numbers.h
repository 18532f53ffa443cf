// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "support/few_numbers.h"
#include "train/readiness.h"

namespace tacit::test {

// FewNumbers in buckets.
class ToldNumbers {
 public:
  ToldNumbers(Process& me, const std::string& spec, std::size_t count, std::size_t bucket)
      : me_(me),
        worker(me, Floats(count)),
        strategy(make_strategy(builtin_strategies(), spec, me.size())),
        readiness_(worker.tensors(), bucket, [this](Slice part) { strategy->ready(worker, part); }) {
    if (readiness_.overlaps()) worker.set_buckets(readiness_.buckets());
    strategy->start(worker);
  }
  void step(std::int64_t t) {
    worker.set_t(t);
    readiness_.begin();
    spend_compute(me_, t, readiness_);
    readiness_.finish();
    strategy->step(worker);
  }

 private:
  Process& me_;

 public:
  PlainWorker worker;
  std::unique_ptr<Strategy> strategy;

 private:
  Readiness readiness_;
};

}  // namespace tacit::test
