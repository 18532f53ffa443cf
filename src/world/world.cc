// SPDX-License-Identifier: MIT
#include "tacit/world/world.h"

#include <charconv>
#include <iostream>
#include <string_view>
#include <utility>

#include "core/rank_seed.h"
#include "core/thrown.h"
#include "tacit/core/error.h"
#include "world/backend.h"
#include "world/launcher_note.h"
#include "world/plan.h"

namespace tacit {

std::uint64_t Process::seed(std::uint64_t n) const { return rank_seed(n, rank()); }
Process::Place Process::admit(int, std::uint32_t) { throw Bug("this world takes back no ranks"); }
void Process::enter(const Place&) { throw Bug("this world takes back no ranks"); }
namespace {

// Takes `--workers N` or `--workers=N` out of argv.
std::optional<int> take_workers(int& argc, char** argv) {
  constexpr std::string_view kFlag = "--workers";
  std::optional<int> workers;
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
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), workers.emplace());
    if (error != std::errc{} || end != value.data() + value.size())
      throw InvalidConfig("--workers " + std::string(value) + " is not a whole number; write --workers 4");
  }
  if (kept < argc) argv[kept] = nullptr;
  argc = kept;
  return workers;
}

std::optional<JobKey> read_key(const WorldPlan& plan) {
  if (!plan.key_file.empty()) return JobKey::read_file(plan.key_file);
  if (plan.key_descriptor >= 0) return JobKey::read_descriptor(plan.key_descriptor);
  return std::nullopt;
}

World open_planned(WorldPlan& plan, WorldOptions options) {
  switch (plan.kind) {
    case WorldChoice::Kind::kTcp:
      plan.tcp.key = read_key(plan);
      return World::tcp(std::move(plan.tcp), std::move(options));
    case WorldChoice::Kind::kMpi:
      return World::mpi(std::move(options));
    default:
      return World::threads(plan.size, std::move(options));
  }
}

}  // namespace

bool is_consequence(const std::exception_ptr& error) { return is<PeerLost>(error); }

void rethrow_cause(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    if (!is_consequence(error)) std::rethrow_exception(error);
    if (!first) first = error;
  }
  if (first) std::rethrow_exception(first);
}

World World::open(const WorldChoice& choice, WorldOptions options) {
  WorldPlan plan = plan_world(choice, Environment::of_this_process());
  const bool survives = options.survive;
  const bool returns = plan.tcp.entry > 0;
  keep_notes(plan.note_descriptor);
  World world = open_planned(plan, std::move(options));
  // MPI counts its ranks itself: with another MPI's launcher it sees one alone.
  if (world.size() != plan.size || world.rank() != plan.rank)
    throw InvalidConfig("this is rank " + std::to_string(plan.rank) + " of " + std::to_string(plan.size) +
                        " to its launcher and rank " + std::to_string(world.rank()) + " of " +
                        std::to_string(world.size()) +
                        " to its MPI library; use the launcher of the MPI that Tacit was built with, or with "
                        "srun its plugin, "
                        "--mpi=pmix for Open MPI and --mpi=pmi2 for MPICH");
  if (survives) note_port(plan.note_descriptor, plan.rank, world.impl_->door());
  if (survives && !returns) leave_note(plan.note_descriptor, plan.rank, LauncherNote::kOthersGoOn);
  world.impl_->origin = {plan.how, plan.local_ranks, survives ? plan.note_descriptor : -1, returns};
  return world;
}

World World::from_environment(int& argc, char** argv, WorldOptions options) {
  WorldChoice choice;
  choice.workers = take_workers(argc, argv);
  World world = open(choice, std::move(options));
  if (world.rank() == 0 && !world.how().empty()) std::cerr << "tacit: " + world.how() + "\n";
  return world;
}

World::World(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;
int World::size() const { return impl_->size(); }
int World::rank() const { return impl_->rank(); }
bool World::one_process() const { return impl_->one_process(); }
bool World::came_back() const { return impl_->origin.returns; }
int World::local_ranks() const {
  return impl_->origin.local_ranks > 0 && !one_process() ? impl_->origin.local_ranks : size();
}
std::string World::name() const { return impl_->name(); }
std::string World::how() const { return impl_->origin.how; }
std::string World::trace_hash() const { return impl_->trace_hash(); }
void World::run(const std::function<void(Process&)>& body) {
  impl_->run(body);
  for (const int rank : impl_->given_up())
    leave_note(impl_->origin.note_descriptor, rank, LauncherNote::kGivenUp);
}
void World::interrupt() {
  impl_->interrupted.store(true);
  impl_->interrupt();
}

}  // namespace tacit
