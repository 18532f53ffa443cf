// SPDX-License-Identifier: MIT
// Ranks as simulated machines, every test in a child of its own: SimGrid has one engine per process.
#include "conformance/transports.h"
#include "sim/fabric.h"
#include "support/simulate.h"

namespace tacit::test {
namespace {

void run_simulated(int ranks, const WaitLimits& limits, const RankBody& body) {
  in_child([&] {
    SimFabric fabric(flat(ranks), 1, {limits});
    fabric.run([&](int rank) {
      const auto leave = [&, rank](bool failed, const std::string& why) {
        fabric.leave(rank, {failed, why});
      };
      try {
        run_and_leave({fabric.endpoint(rank), fabric.tasks(rank), leave, [&] { fabric.interrupt(); }}, body);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << " threw: " << error.what();
      }
    });
  });
}

}  // namespace

std::vector<TransportCase> simulated_transports() { return {{"sim", run_simulated}}; }

}  // namespace tacit::test
