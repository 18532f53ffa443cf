// SPDX-License-Identifier: MIT
// A world whose ranks are threads of this process.
#include <utility>
#include <vector>

#include "core/thrown.h"
#include "tacit/core/error.h"
#include "transport/inproc/inproc.h"
#include "world/backend.h"
#include "world/rank_process.h"

namespace tacit {
namespace {

// Every rank can reach every other one, which takes 0.3 GB for so many, and 13 GB for ten times as many.
constexpr int kMostThreads = 1024;

class ThreadWorld final : public World::Impl {
 public:
  ThreadWorld(int ranks, const WorldOptions& options)
      : ranks_(ranks), make_comm_(own_collectives(options, "threads")), fabric_(ranks, options.limits) {}

  int size() const override { return ranks_; }
  int rank() const override { return 0; }
  bool one_process() const override { return true; }
  std::string name() const override { return "threads"; }
  void interrupt() override { fabric_.interrupt(); }
  void run(const std::function<void(Process&)>& body) override;

 private:
  void run_rank(int rank, const std::function<void(Process&)>& body);
  void refuse_rest(int first, const InvalidConfig& error, std::vector<std::exception_ptr>& errors);

  const int ranks_;
  const MakeComm make_comm_;
  InprocFabric fabric_;
  bool ran_ = false;
};

void ThreadWorld::run_rank(int rank, const std::function<void(Process&)>& body) {
  using Leave = InprocFabric::Leave;
  try {
    {
      RankProcess process(fabric_.endpoint(rank), make_comm_, interrupted, name());
      body(process);
    }
    fabric_.leave(rank, Leave::kDone, "its program ended");
  } catch (...) {
    fabric_.leave(rank, Leave::kFailed, describe(std::current_exception()));
    throw;
  }
}

void ThreadWorld::run(const std::function<void(Process&)>& body) {
  TACIT_CHECK(!std::exchange(ran_, true), "a world runs once; make another");
  ThreadTasks tasks;
  std::vector<std::unique_ptr<Task>> threads;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks_));
  try {
    for (int rank = 0; rank < ranks_; ++rank)
      threads.push_back(tasks.spawn("tacit-" + std::to_string(rank), [&, rank] { run_rank(rank, body); }));
  } catch (const InvalidConfig& error) {
    refuse_rest(static_cast<int>(threads.size()), error, errors);
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    try {
      threads[i]->join();
    } catch (...) {
      errors[i] = std::current_exception();
    }
    // An agent's error explains the trainer's PeerLost, never an error of the trainer's own.
    const std::exception_ptr cause = fabric_.cause(static_cast<int>(i));
    if (cause && (!errors[i] || is_consequence(errors[i]))) errors[i] = cause;
  }
  rethrow_cause(errors);
}

// The system gives no more threads: those that run must not wait for those that never will.
void ThreadWorld::refuse_rest(int first, const InvalidConfig& error,
                              std::vector<std::exception_ptr>& errors) {
  for (int rank = first; rank < ranks_; ++rank)
    fabric_.leave(rank, InprocFabric::Leave::kFailed, "its thread could not be started");
  errors[static_cast<std::size_t>(first)] = std::make_exception_ptr(
      InvalidConfig("only " + std::to_string(first) + " of " + std::to_string(ranks_) +
                    " workers could be started: " + error.what() + ", or ask for fewer workers"));
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): one signature for all worlds
World World::threads(int ranks, WorldOptions options) {
  if (ranks > kMostThreads)
    throw InvalidConfig(std::to_string(ranks) + " workers are too many threads for one process; ask for " +
                        std::to_string(kMostThreads) +
                        " at most, start processes with tacit launch, or simulate a cluster");
  return World(std::make_unique<ThreadWorld>(ranks, options));
}

}  // namespace tacit
