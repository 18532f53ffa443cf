// SPDX-License-Identifier: MIT
#include "train/time_account.h"

#include <algorithm>

namespace tacit {

TimeAccount::Exchange::Exchange(TimeAccount& account)
    : account_(account), start_(account.clock_.now()), waited_(account.process_.waited()) {}

TimeAccount::Exchange::~Exchange() {
  account_.exchanged_ += account_.clock_.now() - start_;
  account_.waited_ += account_.process_.waited() - waited_;
}

// Clocks are read one after the other, so that a part may come out a little larger than the whole.
TimeSpent TimeAccount::spent(Seconds training) const {
  if (const auto known = process_.virtual_time_spent()) return *known;
  const Seconds exchanged = std::clamp(exchanged_, Seconds(0), training);
  const Seconds waited = std::clamp(waited_, Seconds(0), exchanged);
  return {(training - exchanged).count(), (exchanged - waited).count()};
}

}  // namespace tacit
