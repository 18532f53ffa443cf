// SPDX-License-Identifier: MIT
#include <utility>

#include "conformance/transports.h"
#include "support/tcp_fabric.h"

namespace tacit::test {

namespace {

RunRanks over_tcp(TcpTestFabric::Kind kind) {
  return as_threads([kind](int ranks, const WaitLimits& limits) {
    return std::make_unique<TcpTestFabric>(ranks, limits, kind);
  });
}

}  // namespace

std::vector<TransportCase> all_transports() {
  std::vector<TransportCase> all = simulated_transports();
  const std::vector<TransportCase> threads = {
      {"inproc", as_threads([](int ranks, WaitLimits limits) {
         return std::make_unique<InprocTestFabric>(ranks, std::move(limits));
       })},
      {"tcp", over_tcp({.encrypted = false, .share_memory = false})},
      {"tcp_tls", over_tcp({.encrypted = true, .share_memory = false})},
      {"tcp_memory", over_tcp({.encrypted = true, .share_memory = true})}};
  all.insert(all.end(), threads.begin(), threads.end());
  return all;
}

}  // namespace tacit::test
