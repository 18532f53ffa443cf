// SPDX-License-Identifier: MIT
// In a build without TCP.
#include <utility>

#include "conformance/transports.h"

namespace tacit::test {

std::vector<TransportCase> all_transports() {
  std::vector<TransportCase> all = simulated_transports();
  all.push_back({"inproc", as_threads([](int ranks, WaitLimits limits) {
                   return std::make_unique<InprocTestFabric>(ranks, std::move(limits));
                 })});
  return all;
}

}  // namespace tacit::test
