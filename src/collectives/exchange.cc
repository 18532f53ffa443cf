// SPDX-License-Identifier: MIT
#include "collectives/exchange.h"

namespace tacit {

void Exchange::check(const Arrival& arrival, std::size_t bytes) const {
  if (arrival.data.size() != bytes) refuse_length(endpoint_.rank(), arrival, bytes);
}

}  // namespace tacit
