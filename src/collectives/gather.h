// SPDX-License-Identifier: MIT
// What every rank says, on all of them.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>
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

template <class T>
struct SaidBy {
  int rank;
  T what;
};

// The same of a value.
template <class T>
std::vector<SaidBy<T>> gather_values(Collectives& comm, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<SaidBy<T>> all;
  for (const FromRank& each : gather_bytes(comm, std::as_bytes(std::span(&mine, 1)))) {
    SaidBy<T> said{each.rank, {}};
    std::memcpy(&said.what, each.bytes.data(), sizeof said.what);
    all.push_back(said);
  }
  return all;
}

}  // namespace tacit
