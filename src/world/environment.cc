// SPDX-License-Identifier: MIT
#include "world/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr std::size_t kLongestJob = 64;
constexpr int kLargestPort = 65535;

bool allowed_in_job(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

// The variables of one launcher.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local;
};
constexpr Names kTacit{"tacit launch", "TACIT_RANK", "TACIT_SIZE", "TACIT_LOCAL_SIZE"};
constexpr Names kOpenMpi{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kHydra{"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"};  // MPICH and Intel MPI
constexpr Names kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"};

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string setting(const Environment& env, const std::string& name) {
  return name + "=" + env.text(name.c_str());
}

// Some of `all` are set and some are not.
[[noreturn]] void refuse_half(const Environment& env, const std::string& launcher,
                              const std::vector<const char*>& all) {
  std::vector<std::string> there;
  std::vector<std::string> missing;
  for (const char* name : all) env.has(name) ? there.push_back(setting(env, name)) : missing.push_back(name);
  throw InvalidConfig(join(there) + (there.size() == 1 ? " is" : " are") + " set without " + join(missing) +
                      ", which is half of what " + launcher + " sets; set all of " +
                      join({all.begin(), all.end()}) + ", or unset what is there");
}

Launch read(const Environment& env, const Names& names, const std::string& size_name) {
  Launch launch;
  launch.launcher = names.launcher;
  launch.rank_name = names.rank;
  launch.size_name = size_name;
  launch.size = env.number(size_name.c_str(), 1).value();
  launch.rank = env.number(names.rank, 0).value();
  launch.local_ranks = env.number(names.local, 1).value_or(0);
  if (launch.rank >= launch.size)
    throw InvalidConfig(setting(env, names.rank) + " and " + setting(env, size_name) +
                        ": ranks count from 0, so that the last one is " + std::to_string(launch.size - 1) +
                        "; mend what " + names.launcher + " was given");
  return launch;
}

std::optional<Launch> find_tacit(const Environment& env) {
  const std::vector<const char*> all{kTacit.rank, kTacit.size, "TACIT_RENDEZVOUS"};
  const auto set = std::count_if(all.begin(), all.end(), [&](const char* name) { return env.has(name); });
  if (set == 0) return std::nullopt;
  if (set < 3) refuse_half(env, kTacit.launcher, all);
  Launch launch = read(env, kTacit, kTacit.size);
  launch.rendezvous = env.text("TACIT_RENDEZVOUS");
  return launch;
}

// One task of a step that srun started; a step of one task is a shell's or a script's and no world.
struct Step {
  std::string size_name;
  int size = 0;  // 0: this process is in no step
};

// A batch script and the shell of salloc also have SLURM_PROCID=0 and SLURM_NTASKS, that of their allocation. What only
// tasks of a step have is SLURM_STEP_ID. The step's own size is SLURM_STEP_NUM_TASKS; SLURM_NTASKS is the same in a
// step of an srun that is too old to set it.
Step find_step(const Environment& env) {
  if (!env.has("SLURM_STEP_ID") || !env.has("SLURM_PROCID")) return {};
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"})
    if (const auto size = env.number(name, 1)) return {name, *size};
  return {};
}

// "4" or "4(x2),3": tasks on each machine of a step; the first number is near enough for a hint.
int first_number(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::max(value, 0);
}

Launch read_step(const Environment& env, const Step& step, const char* rank_name) {
  Launch launch = read(env, {"srun", rank_name, nullptr, ""}, step.size_name);
  launch.local_ranks = first_number(env.text("SLURM_STEP_TASKS_PER_NODE"));
  launch.by_srun = true;
  return launch;
}

// mpirun, mpiexec and srun, of which an inner one hides an outer one.
std::optional<Launch> find_mpi(const Environment& env, const Step& step) {
  if (env.has(kOpenMpi.size) && env.has(kOpenMpi.rank)) return read(env, kOpenMpi, kOpenMpi.size);
  const char* const pmix = "PMIX_RANK";
  if (env.has(kOpenMpi.size) && env.has(pmix))
    return read(env, {kOpenMpi.launcher, pmix, nullptr, kOpenMpi.local}, kOpenMpi.size);
  if (env.has(kOpenMpi.size) || env.has(kOpenMpi.rank))
    refuse_half(env, kOpenMpi.launcher, {kOpenMpi.rank, kOpenMpi.size});
  if (env.has(kHydra.size) != env.has(kHydra.rank))
    refuse_half(env, kHydra.launcher, {kHydra.rank, kHydra.size});
  if (env.has(kHydra.size)) {
    Launch launch = read(env, kHydra, kHydra.size);
    launch.by_srun = step.size == launch.size;  // srun --mpi=pmi2 sets these too
    if (!launch.by_srun) return launch;
  }
  if (env.has(pmix) && step.size == 0)
    throw InvalidConfig(
        setting(env, pmix) +
        " says which rank this is and nothing says how many there are; start "
        "the program with mpirun or srun, which set OMPI_COMM_WORLD_SIZE or SLURM_STEP_NUM_TASKS, "
        "or unset PMIX_RANK");
  if (step.size > 1) return read_step(env, step, env.has(pmix) ? pmix : "SLURM_PROCID");
  return std::nullopt;
}

// torchrun's names are anybody's: scripts export some of them for programs of their own. Beside a launcher that is
// complete a part of them means nothing, and alone it is an error.
std::optional<Launch> find_torchrun(const Environment& env, bool beside_another) {
  const std::vector<const char*> all{kTorchrun.rank, kTorchrun.size, "MASTER_ADDR", "MASTER_PORT"};
  if (!env.has(kTorchrun.rank) && !env.has(kTorchrun.size)) return std::nullopt;
  if (!std::all_of(all.begin(), all.end(), [&](const char* name) { return env.has(name); })) {
    if (beside_another) return std::nullopt;
    refuse_half(env, kTorchrun.launcher, all);
  }
  Launch launch = read(env, kTorchrun, kTorchrun.size);
  int port = env.number("MASTER_PORT", 1).value();
  // torchrun's own agent listens there.
  if (env.text("TORCHELASTIC_USE_AGENT_STORE") == "True") ++port;
  port = env.number("TACIT_PORT", 1).value_or(port);
  if (port > kLargestPort)
    throw InvalidConfig("port " + std::to_string(port) +
                        ", from TACIT_PORT or MASTER_PORT, does not exist; set TACIT_PORT "
                        "to a free port of rank 0's machine, at most " +
                        std::to_string(kLargestPort));
  const std::string host = env.text("MASTER_ADDR");
  const bool numeric_v6 = host.find(':') != std::string::npos && host.front() != '[';
  launch.rendezvous = "tcp://" + (numeric_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  launch.job = env.text("TORCHELASTIC_RUN_ID").substr(0, kLongestJob);
  std::replace_if(
      launch.job.begin(), launch.job.end(), [](char c) { return !allowed_in_job(c); }, '_');
  return launch;
}

[[noreturn]] void refuse_pair(const Launch& inner, const std::string& other, const std::string& launcher) {
  throw InvalidConfig(inner.size_name + "=" + std::to_string(inner.size) + " (" + inner.launcher + ") and " +
                      other + " (" + launcher +
                      ") contradict each other; start the program with one of the two, or unset the "
                      "variables of the other");
}

// A step may hold one launcher per machine; two launchers inside one another make as many worlds as the outer one has
// processes.
void refuse_contradictions(const Environment& env, const std::vector<Launch>& found) {
  const Launch& inner = found.front();
  for (const Launch& other : found)
    if (other.size != inner.size && !other.by_srun)
      refuse_pair(inner, setting(env, other.size_name), other.launcher);
  const bool half_torchrun =
      std::none_of(found.begin(), found.end(), [](const Launch& l) { return l.size_name == kTorchrun.size; });
  if (const auto size = env.number(kTorchrun.size, 1); half_torchrun && size && *size != inner.size)
    refuse_pair(inner, setting(env, kTorchrun.size), kTorchrun.launcher);
}

std::string doubt_about(const Environment& env) {
  const int tasks = env.number("SLURM_NTASKS", 1).value_or(1);
  if (tasks == 1) return "";
  return "SLURM_NTASKS=" + std::to_string(tasks) +
         ", but this process is no task of a step with so many: it would be a world of its own; start it "
         "with srun, "
         "or say with --workers N how many threads it shall use";
}

}  // namespace

bool is_job_id(const std::string& text) {
  return !text.empty() && text.size() <= kLongestJob && std::all_of(text.begin(), text.end(), allowed_in_job);
}

Environment Environment::of_this_process() {
  return Environment([](const char* name) { return std::getenv(name); });
}

std::string Environment::text(const char* name) const {
  const char* value = lookup_(name);
  return value == nullptr ? "" : value;
}

std::optional<int> Environment::number(const char* name, int least) const {
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  int parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc{} || end != value.data() + value.size() || parsed < least)
    throw InvalidConfig(std::string(name) + "=" + value + " is not a whole number from " +
                        std::to_string(least) + "; mend it or unset it");
  return parsed;
}

bool Environment::flag(const char* name) const {
  const std::string value = text(name);
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  throw InvalidConfig(std::string(name) + "=" + value + " says neither yes nor no; set it to 1 or 0");
}

Launches find_launches(const Environment& env) {
  const Step step = find_step(env);
  Launches launches;
  const auto add = [&](std::optional<Launch> launch) {
    if (launch) launches.found.push_back(*std::move(launch));
  };
  add(find_tacit(env));
  std::optional<Launch> mpi = find_mpi(env, step);
  const bool outer = mpi && mpi->by_srun;
  if (!outer) add(mpi);
  add(find_torchrun(env, mpi.has_value() || !launches.found.empty()));
  if (outer) add(mpi);
  if (launches.found.empty()) {
    launches.doubt = doubt_about(env);
  } else {
    refuse_contradictions(env, launches.found);
  }
  return launches;
}

std::optional<Launch> launcher_above(const Environment& env) {
  const auto of_several = [&](auto find) -> std::optional<Launch> {
    try {
      std::optional<Launch> launch = find();
      return launch && launch->size > 1 ? launch : std::nullopt;
    } catch (const InvalidConfig&) {
      return std::nullopt;
    }
  };
  std::optional<Launch> above = of_several([&] { return find_mpi(env, find_step(env)); });
  if (!above) above = of_several([&] { return find_tacit(env); });
  if (!above) above = of_several([&] { return find_torchrun(env, true); });
  return above;
}

}  // namespace tacit
