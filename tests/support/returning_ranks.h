// SPDX-License-Identifier: MIT
// Ranks over TCP, all in this process, that are lost and come back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.h"
#include "support/on_every_rank.h"
#include "support/temp_dir.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"

namespace tacit::test {

struct ReturningKind {
  bool encrypted = true;
  bool share_memory = false;
};

// Threads  each rank's fabric by its own; lose() and come_back() of a rank by one thread at a time.
class ReturningRanks {
 public:
  using Kind = ReturningKind;
  explicit ReturningRanks(int ranks, Kind kind = {})
      : kind_(kind), fabrics_(static_cast<std::size_t>(ranks)) {
    if (kind.encrypted) key_ = JobKey::random();
    run_ranks(ranks, [&](int rank) { open(options_of(rank)); });
    for (const auto& fabric : fabrics_) doors_.push_back(fabric->door());
  }
  ~ReturningRanks() {
    for (const auto& fabric : fabrics_)
      if (fabric) fabric->leave({false, "its test ended", kAnyRank});
  }
  ReturningRanks(const ReturningRanks&) = delete;
  ReturningRanks& operator=(const ReturningRanks&) = delete;

  int size() const { return static_cast<int>(fabrics_.size()); }
  Fabric& fabric(int rank) { return *fabrics_[at(rank)]; }
  Endpoint& endpoint(int rank) { return fabric(rank).endpoint(); }
  std::uint16_t door(int rank) const { return doors_[at(rank)]; }

  // As a process that is killed: its connections close without a goodbye.
  void lose(int rank) { fabrics_[at(rank)].reset(); }
  // Whether all others know it.
  bool is_lost(int rank) {
    return eventually([&] {
      for (int peer = 0; peer < size(); ++peer)
        if (fabrics_[at(peer)] && endpoint(peer).here(rank)) return false;
      return true;
    });
  }
  Endpoint& come_back(int rank, std::uint32_t entry) {
    TcpOptions options = options_of(rank);
    options.entry = entry;
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank) options.members.push_back({peer, "127.0.0.1", door(peer)});
    open(options);
    doors_[at(rank)] = fabric(rank).door();
    // A rank is welcomed before it is taken in, a moment later.
    (void)eventually([&] {
      for (int peer = 0; peer < size(); ++peer)
        if (fabrics_[at(peer)] && !endpoint(peer).here(rank)) return false;
      return true;
    });
    return endpoint(rank);
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  TcpOptions options_of(int rank) const {
    TcpOptions options;
    options.rank = rank;
    options.size = size();
    options.rendezvous = "file://" + (folder_.path() / "meet").string();
    options.key = key_;
    options.local_ranks = size();
    options.share_memory = kind_.share_memory;
    options.take_back = true;
    options.lost_after = Seconds(60);  // sanitizers on a busy machine are slow
    options.limits = test_limits();
    options.limits.report = [](const std::string&) {};  // losses are what these tests are about
    return options;
  }
  void open(const TcpOptions& options) {
    auto opened = open_tcp(options);
    opened->endpoint().survive();
    fabrics_[at(options.rank)] = std::move(opened);
  }

  const TempDir folder_;
  const Kind kind_;
  std::optional<JobKey> key_;
  std::vector<std::unique_ptr<Fabric>> fabrics_;
  std::vector<std::uint16_t> doors_;
};

}  // namespace tacit::test
