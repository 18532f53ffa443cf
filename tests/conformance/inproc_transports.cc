// SPDX-License-Identifier: MIT
// In a build without TCP.
#include <utility>

#include "conformance/transports.h"

namespace tacit::test {

std::vector<TransportCase> all_transports() {
  return {{"inproc", as_threads([](int ranks, WaitLimits limits) {
             return std::make_unique<InprocTestFabric>(ranks, std::move(limits));
           })}};
}

}  // namespace tacit::test
