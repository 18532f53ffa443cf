// SPDX-License-Identifier: MIT
#include <utility>

#include "conformance/transports.h"
#include "support/tcp_fabric.h"

namespace tacit::test {

std::vector<TransportCase> all_transports() {
  return {{"inproc", as_threads([](int ranks, WaitLimits limits) {
             return std::make_unique<InprocTestFabric>(ranks, std::move(limits));
           })},
          {"tcp", as_threads([](int ranks, const WaitLimits& limits) {
             return std::make_unique<TcpTestFabric>(ranks, limits, std::nullopt);
           })},
          {"tcp_tls", as_threads([](int ranks, const WaitLimits& limits) {
             return std::make_unique<TcpTestFabric>(ranks, limits, JobKey::random());
           })}};
}

}  // namespace tacit::test
