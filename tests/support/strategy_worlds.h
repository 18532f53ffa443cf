// SPDX-License-Identifier: MIT
// The worlds that strategies are tested in, all of them in one process group: threads, simulated machines, and TCP
// between threads of this process.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "support/on_every_rank.h"
#include "support/simulate.h"
#include "support/temp_dir.h"
#include "tacit/core/error.h"
#include "tacit/world/world.h"

namespace tacit::test {

using ProcessBody = std::function<void(Process&)>;

// So many ranks that wait to be given something to do, once.
struct OpenWorld {
  int ranks;
  std::function<void(const ProcessBody& body)> run;
  // Of all that happened; empty where time is real.
  std::function<std::string()> trace = [] { return ""; };
};

// How simulated machines compute: each at a speed of its own that is nearly that of the others, or out of step by
// jitter and stragglers. Real ones do as they can.
enum class Pace { kSteady, kUneven };

struct StrategyWorld {
  std::string name;
  bool virtual_time;
  std::function<bool()> built;  // whether this build has it
  // Opens one and gives it to the test, perhaps in a child of this process, whose failures are the test's and whose
  // result, which must be short, comes back.
  std::function<std::string(int ranks, Pace pace, const std::function<std::string(const OpenWorld&)>& test)>
      open;
};

inline Cluster cluster_at(Pace pace, int ranks) {
  Cluster cluster = flat(ranks);
  cluster.step = Seconds(0.001);
  if (pace == Pace::kSteady) {  // nothing happens at one moment, where the order would be anybody's
    for (int rank = 0; rank < ranks; ++rank) cluster.speed.push_back(1 - 0.01 * rank);
    return cluster;
  }
  cluster.jitter = 0.3;
  cluster.stragglers.push_back({{}, 1, Seconds(0.003), 1});
  return cluster;
}

inline WorldOptions with_test_limits() {
  WorldOptions options;
  options.limits = test_limits();
  options.lost_after = Seconds(60);  // sanitizers on a busy machine are slow
  return options;
}

inline void run_over_tcp(int ranks, const ProcessBody& body) {
  const TempDir folder;
  run_ranks(ranks, [&](int rank) {
    TcpOptions tcp;
    tcp.rank = rank;
    tcp.size = ranks;
    tcp.rendezvous = "file://" + (folder.path() / "meet").string();
    tcp.local_ranks = ranks;
    World world = World::tcp(tcp, with_test_limits());
    world.run(body);
  });
}

inline bool has_tcp() {
  static const bool has = [] {
    try {
      run_over_tcp(1, [](Process&) {});
      return true;
    } catch (const InvalidConfig&) {
      return false;
    }
  }();
  return has;
}

inline const std::vector<StrategyWorld>& strategy_worlds() {
  using Test = std::function<std::string(const OpenWorld&)>;
  static const std::vector<StrategyWorld> all{
      {"threads", false, [] { return true; },
       [](int ranks, Pace, const Test& test) {
         World world = World::threads(ranks, with_test_limits());
         return test({ranks, [&](const ProcessBody& body) { world.run(body); }});
       }},
      {"tcp", false, has_tcp,
       [](int ranks, Pace, const Test& test) {
         return test({ranks, [ranks](const ProcessBody& body) { run_over_tcp(ranks, body); }});
       }},
      {"simulated", true, has_simulator, [](int ranks, Pace pace, const Test& test) {
         return from_child([&] {
           World world = World::simulated(cluster_at(pace, ranks), 1, without_limits());
           return test({ranks, [&](const ProcessBody& body) { world.run(body); },
                        [&] { return world.trace_hash(); }});
         });
       }}};
  return all;
}

inline const StrategyWorld& strategy_world(const std::string& name) {
  for (const StrategyWorld& each : strategy_worlds())
    if (each.name == name) return each;
  throw Bug("no world is called " + name);
}

}  // namespace tacit::test
