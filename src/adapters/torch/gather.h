// SPDX-License-Identifier: MIT
// What each rank says of itself, to all.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "collectives/gather.h"

namespace tacit::torch {

template <class T>
struct Said {
  int rank;
  T what;
};

// Of the ranks that live, in their order. Collective.
template <class T>
std::vector<Said<T>> gather(Comm& comm, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<Said<T>> all;
  for (const FromRank& each : gather_bytes(comm, std::as_bytes(std::span(&mine, 1)))) {
    Said<T> said{each.rank, {}};
    std::memcpy(&said.what, each.bytes.data(), sizeof said.what);
    all.push_back(said);
  }
  return all;
}

}  // namespace tacit::torch
