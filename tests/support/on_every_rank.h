// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/endpoint_comm.h"
#include "tacit/core/tasks.h"
#include "transport/inproc/inproc.h"

namespace tacit::test {

// Limits for tests: a wait that should end does so long before, and one that never ends is named.
inline WaitLimits test_limits() { return {Seconds(60), Seconds(20), nullptr}; }

// A fabric of so many ranks, as the conformance suites see it: what they need beside Endpoint.
class TestFabric {
 public:
  virtual ~TestFabric() = default;
  virtual Endpoint& endpoint(int rank) = 0;
  virtual void leave(int rank, bool failed, const std::string& why) = 0;
  virtual void interrupt(int rank) = 0;  // or all of them
};
using MakeFabric = std::function<std::unique_ptr<TestFabric>(int ranks, WaitLimits limits)>;

class InprocTestFabric final : public TestFabric {
 public:
  InprocTestFabric(int ranks, WaitLimits limits) : fabric_(ranks, std::move(limits)) {}
  Endpoint& endpoint(int rank) override { return fabric_.endpoint(rank); }
  void leave(int rank, bool failed, const std::string& why) override {
    fabric_.leave(rank, failed ? InprocFabric::Leave::kFailed : InprocFabric::Leave::kDone, why);
  }
  void interrupt(int) override { fabric_.interrupt(); }

 private:
  InprocFabric fabric_;
};

// Runs body(i) on `count` tasks, waits for all, rethrows the first failure.
inline void run_tasks(Tasks& tasks, int count, const std::function<void(int)>& body) {
  std::vector<std::unique_ptr<Task>> running;
  for (int i = 0; i < count; ++i)
    running.push_back(tasks.spawn("task-" + std::to_string(i), [&body, i] { body(i); }));
  std::exception_ptr first;
  for (const auto& task : running) {
    try {
      task->join();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

// The same on threads.
inline void run_ranks(int ranks, const std::function<void(int)>& body) {
  ThreadTasks tasks;
  run_tasks(tasks, ranks, body);
}

// One rank of a conformance test, wherever it is.
struct TestRank {
  Endpoint& endpoint;
  Tasks& tasks;
  std::function<void(bool failed, const std::string& why)> leave;
  std::function<void()> interrupt;
};
using RankBody = std::function<void(TestRank&)>;
// Runs the body for so many ranks, waits for all, and fails the test where one of them throws or fails. The body is all
// that a rank knows: ranks may be threads of this process or processes of their own. A rank whose body ends leaves.
using RunRanks = std::function<void(int ranks, const WaitLimits& limits, const RankBody& body)>;

inline void run_and_leave(TestRank rank, const RankBody& body) {
  try {
    body(rank);
  } catch (const std::exception& error) {
    rank.leave(true, error.what());
    throw;
  }
  rank.leave(false, "its test ended");
}

inline RunRanks as_threads(const MakeFabric& make) {
  return [make](int ranks, const WaitLimits& limits, const RankBody& body) {
    const auto fabric = make(ranks, limits);
    run_ranks(ranks, [&](int rank) {
      ThreadTasks tasks;
      run_and_leave({fabric->endpoint(rank), tasks,
                     [&, rank](bool failed, const std::string& why) { fabric->leave(rank, failed, why); },
                     [&, rank] { fabric->interrupt(rank); }},
                    body);
    });
  };
}

// Collectives over threads; what the fabric counted is in each Comm's ledger.
inline void on_every_comm(int ranks, const std::function<void(Comm&)>& body,
                          AllReduce algorithm = AllReduce::kAuto) {
  InprocFabric fabric(ranks, test_limits());
  run_ranks(ranks, [&](int rank) {
    ThreadTasks tasks;
    const auto comm = make_endpoint_comm(fabric.endpoint(rank), tasks, Tag::Lane::kTrain, algorithm);
    try {
      body(*comm);
      fabric.leave(rank, InprocFabric::Leave::kDone, "its test ended");
    } catch (const std::exception& error) {
      fabric.leave(rank, InprocFabric::Leave::kFailed, error.what());
      throw;
    }
  });
}

}  // namespace tacit::test
