// SPDX-License-Identifier: MIT
// What a server of synchronous workers does first: it waits for one vector of every worker per step and averages them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit {

// Threads  one at a time.
class Rounds {
 public:
  // Of vectors like x.
  Rounds(int ranks, ConstFloatView x) : ranks_(static_cast<std::size_t>(ranks)), mean_(x) {}

  // True where x was the last one of its step: then mean() is that of all, added in rank order.
  [[nodiscard]] bool add(int from, std::int64_t step, ConstFloatView x) {
    TACIT_CHECK(x.size() == mean_.view().size(), "a push does not fit its shard");
    Round& round = rounds_[step];
    round.resize(ranks_);
    round[static_cast<std::size_t>(from)].assign(x);
    for (const Buffer& contribution : round)
      if (contribution.view().empty()) return false;
    average(round);
    rounds_.erase(step);
    return true;
  }
  ConstFloatView mean() const { return mean_.view(); }

 private:
  using Round = std::vector<Buffer>;  // by rank

  void average(const Round& round) {
    mean_.take(round[0].view());
    for (std::size_t r = 1; r < ranks_; ++r) kernels::add(round[r].view(), mean_.view());
    kernels::scale(1.0F / static_cast<float>(ranks_), mean_.view());
  }

  const std::size_t ranks_;
  std::map<std::int64_t, Round> rounds_;  // a fast rank may already push the next step
  Buffer mean_;
};

}  // namespace tacit
