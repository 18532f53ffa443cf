// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/on_every_rank.h"
#include "support/temp_dir.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"

namespace tacit::test {

// Ranks that talk over loopback sockets, all in this process.
class TcpTestFabric final : public TestFabric {
 public:
  struct Kind {
    bool encrypted = false;
    bool share_memory = false;
  };
  TcpTestFabric(int ranks, const WaitLimits& limits, Kind kind) : fabrics_(static_cast<std::size_t>(ranks)) {
    std::optional<JobKey> key;
    if (kind.encrypted) key = JobKey::random();
    run_ranks(ranks, [&](int rank) {
      TcpOptions options;
      options.rank = rank;
      options.size = ranks;
      options.rendezvous = "file://" + (folder_.path() / "meet").string();
      options.key = key;
      options.local_ranks = ranks;
      options.share_memory = kind.share_memory;
      options.lost_after = Seconds(60);  // sanitizers on a busy machine are slow
      options.limits = limits;
      fabrics_[static_cast<std::size_t>(rank)] = open_tcp(std::move(options));
      if (kind.share_memory) settle(fabrics_[static_cast<std::size_t>(rank)]->endpoint());
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
  // Ranks find out beside everything else whether they can read each other's memory, by a question, an answer and its
  // confirmation. After as many rounds all is said, because connections keep the order. The tests use other lanes.
  static void settle(Endpoint& me) {
    for (const std::uint32_t round : {0U, 1U, 2U}) {
      const Tag tag(Tag::Channel::kReply, Tag::Lane::kBackground, round);
      for (int peer = 0; peer < me.size(); ++peer) me.isend(peer, tag, {})->wait();
      for (int peer = 0; peer < me.size(); ++peer) me.irecv(peer, tag, {})->wait();
    }
  }

  TempDir folder_;
  std::vector<std::unique_ptr<Fabric>> fabrics_;
};

}  // namespace tacit::test
