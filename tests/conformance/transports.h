// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "support/on_every_rank.h"

namespace tacit::test {

inline constexpr std::size_t kSmall = 100;                  // below every transport's eager limit
inline constexpr std::size_t kLarge = 3 * 1024 * 1024 + 7;  // above it

inline Tag tag(std::uint32_t step = 0, std::uint16_t part = 0) {
  return {Tag::Channel::kExchange, Tag::Lane::kTrain, step, part};
}

inline std::vector<std::byte> pattern(std::size_t size, int seed) {
  std::vector<std::byte> data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed));
  return data;
}

struct TransportCase {
  std::string name;
  RunRanks run;
};
inline void PrintTo(const TransportCase& c, std::ostream* os) { *os << c.name; }

// Those that this program tests: threads_transports.cc where ranks are threads of it, mpi_transports.cc where they are
// processes that mpirun started.
std::vector<TransportCase> all_transports();
// Of these, the simulated ones: none in a build without the simulator.
std::vector<TransportCase> simulated_transports();

}  // namespace tacit::test
