// SPDX-License-Identifier: MIT
// What every rank says, on all of them.
#pragma once

#include <vector>

#include "tacit/collectives/collectives.h"

namespace tacit {

struct FromRank {
  int rank = 0;
  std::vector<std::byte> bytes;
};

// Of all ranks that live, in their order. Called by all of these, with bytes of one length; works in worlds that have
// lost ranks, too.
std::vector<FromRank> gather_bytes(Collectives& comm, ConstBytes mine);

}  // namespace tacit
