// SPDX-License-Identifier: MIT
// In a build without the simulator.
#include "conformance/transports.h"

namespace tacit::test {

std::vector<TransportCase> simulated_transports() { return {}; }

}  // namespace tacit::test
