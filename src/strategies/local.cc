// SPDX-License-Identifier: MIT
// Local SGD -- S. U. Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019, arXiv:1805.09767,
// Algorithm 1.
//
// Idea        every rank takes H steps alone, then all ranks average their parameters.
// Symbols     x_t^k = w.params()   eta_t = w.lr()   K = w.size()   H = period
// Cost        one all-reduce of d floats per H steps.
// Reduces to  ssgd for H = 1 with plain SGD inside (tests/strategies/local_test.cc).
// Differs     the paper allows any set of averaging times, here it is every H-th step and the end of the run;
//             the inner optimiser's state (momentum) stays local.
// Compressed  every rank sends, compressed, how far it has moved since the last average; all move by the mean of that.
//             Such differences have eta in them, so residuals need no factor. The last average of a run is exact.
#include <memory>

#include "protocols/local_rounds.h"
#include "tacit/strategy/registry.h"

namespace tacit {

StrategyInfo local_info() {
  return {"local",
          "local SGD: weights averaged every `period` steps",
          "arXiv:1805.09767",
          "local:period=8",
          [](OptionReader& options, int) -> std::unique_ptr<Strategy> {
            return std::make_unique<LocalRounds>(
                options.integer("period", 16, 1, kMany, {"steps between two means of the weights"}));
          },
          Sends::kDifferences};
}

}  // namespace tacit
