// SPDX-License-Identifier: MIT
// A world whose ranks are simulated machines. Part of tacit::sim and not of tacit::world: who does not simulate loads
// no SimGrid. Where the simulator is not built, src/world/without_sim.cc is there instead.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "sim/fabric.h"
#include "sim/fault_draw.h"
#include "sim/verdict.h"
#include "tacit/core/error.h"
#include "transport/departure.h"
#include "world/backend.h"

namespace tacit {
namespace {

class SimProcess final : public Process {
 public:
  SimProcess(SimFabric& fabric, int rank, const MakeComm& make_comm)
      : fabric_(fabric),
        rank_(rank),
        comm_(make_comm(fabric.endpoint(rank), tasks(), Tag::Lane::kTrain)),
        control_(make_comm(fabric.endpoint(rank), tasks(), Tag::Lane::kControl)) {}
  int rank() const override { return rank_; }
  int size() const override { return fabric_.size(); }
  Comm& comm() override { return *comm_; }
  Comm& control() override { return *control_; }
  Tasks& tasks() override { return fabric_.tasks(rank_); }
  using Process::spend_compute;
  void spend_compute(std::int64_t step, double share) override { fabric_.spend_compute(rank_, step, share); }
  void grant_head_start(Seconds duration) override { fabric_.grant_head_start(rank_, duration); }
  void pause() override { fabric_.pause(rank_); }
  void resume() override { fabric_.resume(rank_); }
  std::optional<TimeSpent> virtual_time_spent() const override {
    return TimeSpent{fabric_.computed(rank_), fabric_.communicated(rank_)};
  }

 private:
  SimFabric& fabric_;
  const int rank_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> control_;
};

class SimWorld final : public World::Impl {
 public:
  SimWorld(const Cluster& cluster, std::uint64_t seed, const WorldOptions& options)
      : cluster_(cluster),
        terms_{options.lost_after, options.survive},
        report_(options.limits.report ? options.limits.report : [](const std::string&) {}),
        make_comm_(own_collectives(options, "simulated")),
        fabric_(cluster, seed, {options.limits, options.lost_after}) {}

  int size() const override { return fabric_.size(); }
  int rank() const override { return 0; }
  bool one_process() const override { return true; }
  std::string name() const override { return "simulated"; }
  std::string trace_hash() const override { return hash_text(fabric_.trace_hash()); }
  void interrupt() override { fabric_.interrupt(); }

  void run(const std::function<void(Process&)>& body) override {
    TACIT_CHECK(!std::exchange(ran_, true), "a world runs once; make another");
    std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size()));
    fabric_.run([&](int rank) { errors[static_cast<std::size_t>(rank)] = run_rank(rank, body); });
    for (int rank = 0; rank < size(); ++rank) {
      std::exception_ptr& error = errors[static_cast<std::size_t>(rank)];
      if (fabric_.crashed(rank)) error = nullptr;
      const std::exception_ptr cause = fabric_.crashed(rank) ? nullptr : fabric_.cause(rank);
      if (cause && (!error || is_consequence(error))) error = cause;
    }
    if (has_faults(cluster_)) conclude(errors);
    rethrow_cause(errors);
  }

 private:
  // Says how a run with faults ended, and whether that is as it should be. Where losses are survived and a rank has
  // finished, those that were lost on the way are no error of the run.
  void conclude(std::vector<std::exception_ptr>& errors) {
    std::vector<RankEnd> ends;
    for (int rank = 0; rank < size(); ++rank) {
      ends.push_back({fabric_.crashed(rank), errors[static_cast<std::size_t>(rank)]});
      for (const Loss& loss : fabric_.endpoint(rank).losses())
        if (loss.rank != rank) ends.back().lost.push_back(loss.rank);
    }
    report_("faults: " + describe_faults(cluster_) + "; " + describe_ends(ends));
    const auto own = [](const std::exception_ptr& error) { return error && !is_consequence(error); };
    if (std::any_of(errors.begin(), errors.end(), own)) return;
    const std::vector<std::string> wrong = violations(cluster_, terms_, ends);
    if (!wrong.empty()) throw Bug(wrong.front() + "; this is a defect in how losses are settled");
    const auto finished = [](const RankEnd& end) { return !end.crashed && !end.error; };
    if (terms_.survive && std::any_of(ends.begin(), ends.end(), finished)) errors.clear();
  }

  std::exception_ptr run_rank(int rank, const std::function<void(Process&)>& body) {
    try {
      {
        SimProcess process(fabric_, rank, make_comm_);
        body(process);
      }
      fabric_.leave(rank, {false, "its program ended"});
      return nullptr;
    } catch (...) {
      fabric_.leave(rank, failure(std::current_exception()));
      return std::current_exception();
    }
  }

  const Cluster cluster_;
  const RunTerms terms_;
  const std::function<void(const std::string&)> report_;
  const MakeComm make_comm_;
  SimFabric fabric_;
  bool ran_ = false;
};

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): one signature for all worlds
World World::simulated(const Cluster& cluster, std::uint64_t seed, WorldOptions options) {
  check(cluster, "this cluster");
  return World(std::make_unique<SimWorld>(cluster, seed, options));
}

}  // namespace tacit
