// SPDX-License-Identifier: MIT
#include "tacit/world/world.h"

#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tacit/collectives/endpoint_comm.h"
#include "tacit/core/error.h"
#include "tacit/transport/inproc.h"

namespace tacit {

class World::Impl {
 public:
  Impl(int ranks, WorldOptions options)
      : ranks_(ranks), options_(std::move(options)), fabric_(ranks, options_.limits) {}

  int size() const { return ranks_; }
  void interrupt() { fabric_.interrupt(); }
  void run(const std::function<void(Process&)>& body);

 private:
  void run_rank(int rank, const std::function<void(Process&)>& body);
  void refuse_rest(int first, const std::system_error& error, std::vector<std::exception_ptr>& errors);

  const int ranks_;
  const WorldOptions options_;
  InprocFabric fabric_;
  bool ran_ = false;
};

namespace {

class ThreadProcess final : public Process {
 public:
  ThreadProcess(Endpoint& endpoint, AllReduce algorithm)
      : rank_(endpoint.rank()),
        size_(endpoint.size()),
        comm_(make_endpoint_comm(endpoint, tasks_, Tag::Lane::kTrain, algorithm)),
        control_(make_endpoint_comm(endpoint, tasks_, Tag::Lane::kControl, algorithm)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Comm& comm() override { return *comm_; }
  Comm& control() override { return *control_; }
  Tasks& tasks() override { return tasks_; }

 private:
  const int rank_;
  const int size_;
  ThreadTasks tasks_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> control_;
};

bool is_consequence(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

// The error that explains the others: a rank that fails is lost to its peers, which then fail too.
void rethrow_cause(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    if (!is_consequence(error)) std::rethrow_exception(error);
    if (!first) first = error;
  }
  if (first) std::rethrow_exception(first);
}

// Takes `--workers N` or `--workers=N` out of argv.
int take_workers(int& argc, char** argv) {
  constexpr std::string_view kFlag = "--workers";
  int workers = 1;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    std::string_view value;
    if (arg == kFlag && i + 1 < argc) {
      value = argv[++i];
    } else if (arg.starts_with("--workers=")) {
      value = arg.substr(kFlag.size() + 1);
    } else if (arg == kFlag) {
      throw InvalidConfig("--workers wants a number, such as --workers 4");
    } else {
      argv[kept++] = argv[i];
      continue;
    }
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), workers);
    if (error != std::errc{} || end != value.data() + value.size())
      throw InvalidConfig("--workers " + std::string(value) + " is not a number; write --workers 4");
  }
  argc = kept;
  return workers;
}

}  // namespace

void World::Impl::run_rank(int rank, const std::function<void(Process&)>& body) {
  using Leave = InprocFabric::Leave;
  try {
    {
      ThreadProcess process(fabric_.endpoint(rank), options_.all_reduce);
      body(process);
    }
    fabric_.leave(rank, Leave::kDone, "its program ended");
  } catch (...) {
    fabric_.leave(rank, Leave::kFailed, describe(std::current_exception()));
    throw;
  }
}

void World::Impl::run(const std::function<void(Process&)>& body) {
  TACIT_CHECK(!std::exchange(ran_, true), "a world runs once; make another");
  ThreadTasks tasks;
  std::vector<std::unique_ptr<Task>> threads;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks_));
  try {
    for (int rank = 0; rank < ranks_; ++rank)
      threads.push_back(tasks.spawn("tacit-" + std::to_string(rank), [&, rank] { run_rank(rank, body); }));
  } catch (const std::system_error& error) {
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
void World::Impl::refuse_rest(int first, const std::system_error& error,
                              std::vector<std::exception_ptr>& errors) {
  for (int rank = first; rank < ranks_; ++rank)
    fabric_.leave(rank, InprocFabric::Leave::kFailed, "its thread could not be started");
  errors[static_cast<std::size_t>(first)] = std::make_exception_ptr(InvalidConfig(
      "only " + std::to_string(first) + " of " + std::to_string(ranks_) + " workers could be started (" +
      error.what() + "); ask for fewer workers or allow the process more threads and memory"));
}

World World::threads(int ranks, WorldOptions options) {
  return World(std::make_unique<Impl>(ranks, std::move(options)));
}

void World::refuse_launchers() {
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"}) {
    const char* size = std::getenv(name);
    if (size == nullptr || std::string_view(size) == "1") continue;
    throw InvalidConfig(
        std::string(name) + "=" + size +
        ": a launcher started several processes, and each would train alone, because ranks are "
        "threads of one process; start one process with --workers N, or unset the variable");
  }
}

World World::from_environment(int& argc, char** argv, WorldOptions options) {
  refuse_launchers();
  return threads(take_workers(argc, argv), std::move(options));
}

World::World(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;
int World::size() const { return impl_->size(); }
std::string World::name() const { return "threads"; }
void World::run(const std::function<void(Process&)>& body) { impl_->run(body); }
void World::interrupt() { impl_->interrupt(); }

}  // namespace tacit
