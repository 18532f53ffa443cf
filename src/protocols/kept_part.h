// SPDX-License-Identifier: MIT
#pragma once

#include "protocols/group_sums.h"
#include "protocols/sum_task.h"
#include "tacit/core/buffer.h"

namespace tacit {

// What a rank has in GroupSums: it stays its part of later sums, until the trainer or a sum changes it.
//
// Threads  as SumPart.
class KeptPart final : public SumPart {
 public:
  KeptPart(Comm& comm, GroupSums::Groups groups, Late late, FloatView x);

  void give(FloatView x, bool late) override;
  void sum(Collectives& beside, std::int64_t number, std::optional<FloatView> waiting) override;
  // Those who are a moment ahead may have activated the next sum already; then x is a move like any other.
  void replace(FloatView x);

  // The ranks of a sum, as far as this one knows who lives. Any task.
  std::vector<int> group(std::int64_t number) const;
  FloatView own() { return own_.view(); }
  FloatView room() { return work_.view(); }  // where no sum runs any more

 private:
  void add_move(FloatView x);

  Comm& comm_;
  const GroupSums::Groups groups_;
  const Late late_;
  bool fresh_ = false;  // a sum was run since the trainer last came
  int members_ = 0;     // of that sum
  Buffer own_;          // what this rank has there: its part of the next sum
  Buffer kept_;         // where fresh_: kMean: the newest sum; kAdd: own_ when the trainer last left
  Buffer work_;         // the sum that is run
};

}  // namespace tacit
