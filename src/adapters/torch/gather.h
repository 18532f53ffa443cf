// SPDX-License-Identifier: MIT
// What each rank says of itself, to all.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/core/error.h"

namespace tacit::torch {

// Everybody's bytes, in the order of the ranks that live. Collective.
inline void tell_all(Comm& comm, ConstBytes mine, const Take& take) {
  const std::vector<ConstBytes> out(static_cast<std::size_t>(comm.size()), mine);
  comm.all_to_all(out, take);
}

template <class T>
struct Said {
  int rank;
  T what;
};

// Collective. Throws Mismatch where a rank says something of another length.
template <class T>
std::vector<Said<T>> gather(Comm& comm, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<Said<T>> all;
  tell_all(comm, std::as_bytes(std::span(&mine, 1)), [&](int from, ConstBytes bytes) {
    Said<T> said{from, {}};
    if (bytes.size() != sizeof said.what)
      throw Mismatch("rank " + std::to_string(from) + " does something else than rank " +
                     std::to_string(comm.rank()) + "; every rank must do the same in the same order");
    std::memcpy(&said.what, bytes.data(), sizeof said.what);
    all.push_back(said);
  });
  return all;
}

}  // namespace tacit::torch
