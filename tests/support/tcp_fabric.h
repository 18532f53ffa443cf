// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/on_every_rank.h"
#include "support/temp_dir.h"
#include "tacit/transport/tcp.h"

namespace tacit::test {

// Ranks that talk over loopback sockets, all in this process.
class TcpTestFabric final : public TestFabric {
 public:
  TcpTestFabric(int ranks, const WaitLimits& limits, std::optional<JobKey> key)
      : fabrics_(static_cast<std::size_t>(ranks)) {
    run_ranks(ranks, [&](int rank) {
      TcpOptions options;
      options.rank = rank;
      options.size = ranks;
      options.rendezvous = "file://" + (folder_.path() / "meet").string();
      options.key = key;
      options.local_ranks = ranks;
      options.lost_after = Seconds(60);  // sanitizers on a busy machine are slow
      options.limits = limits;
      fabrics_[static_cast<std::size_t>(rank)] = open_tcp(std::move(options));
    });
  }
  ~TcpTestFabric() override {
    for (const auto& fabric : fabrics_) fabric->leave({false, "its test ended", kAnyRank});
  }
  TcpTestFabric(const TcpTestFabric&) = delete;
  TcpTestFabric& operator=(const TcpTestFabric&) = delete;
  Endpoint& endpoint(int rank) override { return fabrics_[static_cast<std::size_t>(rank)]->endpoint(); }
  void leave(int rank, bool failed, const std::string& why) override {
    fabrics_[static_cast<std::size_t>(rank)]->leave({failed, why, kAnyRank});
  }
  void interrupt(int rank) override { fabrics_[static_cast<std::size_t>(rank)]->interrupt(); }

 private:
  TempDir folder_;
  std::vector<std::unique_ptr<Fabric>> fabrics_;
};

}  // namespace tacit::test
