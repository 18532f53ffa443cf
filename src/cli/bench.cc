// SPDX-License-Identifier: MIT
// tacit bench: Tacit's exchanges and those of other libraries, each in a program of its own, in turns, so that all meet
// the same minute of a shared machine.
#include "cli/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/contestant.h"
#include "cli/terminal.h"
#include "core/byte_size.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "world/signals.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kTurns = 7;

struct Settings {
  std::string what;
  std::string world = "threads";
  int workers = 2;
  std::string sizes = "4KiB,64KiB,1MiB,16MiB,64MiB";
  std::string beside;
  bool tls = true;
  bool sockets_only = false;
  double timeout = 120;
  std::string compress;
  std::int64_t values = 25'600'000;
  bool json = false;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) items.push_back(item);
  return items;
}

std::vector<std::size_t> parse_sizes(const Settings& s) {
  std::vector<std::size_t> sizes;
  for (const std::string& text : split(s.sizes)) {
    sizes.push_back(parse_byte_size("--sizes", text));
    if (s.what == "allreduce" && sizes.back() % sizeof(float) != 0)
      throw InvalidConfig(
          fmt::format("--sizes: {} bytes are no whole number of floats; give a multiple of 4", text));
  }
  if (sizes.empty()) throw InvalidConfig("--sizes names no size; write --sizes 4KiB,1MiB");
  return sizes;
}

void check_name(std::string_view kind, const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw InvalidConfig(unknown_name(kind, name, known));
}

void check(const Settings& s) {
  check_name("benchmark", s.what, {"allreduce", "latency", "bandwidth", "compress"});
  check_name("world", s.world, {"threads", "tcp", "mpi"});
  const std::vector<std::string> beside = split(s.beside);
  for (const std::string& library : beside) {
    check_name("library", library, {"gloo", "openmpi"});
    if (std::count(beside.begin(), beside.end(), library) > 1)
      throw InvalidConfig(fmt::format("--beside {}: {} is named twice; name it once", s.beside, library));
  }
  if (s.workers < 1)
    throw InvalidConfig(fmt::format("--workers {} is not a number of workers; give 1 or more", s.workers));
  if (s.what != "allreduce" && s.workers != 2)
    throw InvalidConfig(
        fmt::format("--workers {}: {} is between two ranks; give --workers 2", s.workers, s.what));
  if (s.what != "allreduce" && !s.beside.empty())
    throw InvalidConfig(fmt::format(
        "--beside {}: only allreduce is run beside other libraries; leave --beside out", s.beside));
  if (!s.tls && s.world != "tcp")
    throw InvalidConfig(
        fmt::format("--insecure-plaintext is about --world tcp; leave it out for {}", s.world));
  if (s.sockets_only && s.world != "tcp")
    throw InvalidConfig(fmt::format("--sockets-only is about --world tcp; leave it out for {}", s.world));
  constexpr double kDay = 86400;
  if (!(s.timeout > 0 && s.timeout <= kDay))
    throw InvalidConfig(
        fmt::format("--timeout {} is no limit; give seconds, more than 0 and at most a day", s.timeout));
}

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

// A program of bench/: beside this one, or where the build leaves it.
std::string beside_program(const std::string& name, const std::string& package) {
  const fs::path folder = this_program().parent_path();
  for (const fs::path& candidate : {folder / name, folder / "bench" / name})
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  throw InvalidConfig(fmt::format("{} is neither in {} nor in {}; install {} and build the CMake target {}",
                                  name, folder.string(), (folder / "bench").string(), package, name));
}

using Command = std::vector<std::string>;

Command mpirun(int ranks) {
  Command command{"mpirun", "-n", std::to_string(ranks), "--oversubscribe", "--bind-to", "none"};
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  return command;
}

Command operator+(Command left, const Command& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Command tacit_command(const Settings& s) {
  const std::string program = this_program().string();
  const std::string workers = std::to_string(s.workers);
  const Command follow{program, "bench", "follow", "--world", s.world};
  if (s.world == "threads") return follow + Command{"--workers", workers};
  if (s.world == "mpi") return mpirun(s.workers) + follow;
  Command launch{program, "launch", "-n", workers, "--no-prefix"};
  if (!s.tls) launch.emplace_back("--insecure-plaintext");
  launch.emplace_back("--");
  if (s.sockets_only) launch = launch + Command{"env", "TACIT_SOCKETS_ONLY=1"};
  return launch + follow;
}

Command library_command(const std::string& library, int ranks) {
  if (library == "gloo") return {beside_program("tacit_beside_gloo", "libgloo-dev"), std::to_string(ranks)};
  return mpirun(ranks) + Command{beside_program("tacit_beside_openmpi", "libopenmpi-dev")};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class BenchCommand {
 public:
  explicit BenchCommand(Settings settings)
      : settings_(std::move(settings)), activity_(settings_.json, "starting the contestants ...") {
    check(settings_);
    sizes_ = parse_sizes(settings_);
    plan_ = {settings_.what, settings_.world,
             settings_.world != "tcp" ? ""
                                      : std::string(settings_.tls ? "TLS 1.3" : "plaintext") +
                                            (settings_.sockets_only ? ", sockets only" : ""),
             settings_.workers, split(settings_.beside)};
  }

  int run() {
    // A contestant that has ended is noticed by its missing answer.
    std::signal(SIGPIPE, SIG_IGN);
    const StopSignals signals;
    start();
    const BenchTable table(plan_, columns_of(STDOUT_FILENO));
    print(table.heading(kTurns));
    std::vector<BenchRow> rows;
    for (const std::size_t bytes : sizes_) {
      rows.push_back(measure_size(bytes, rows.size()));
      print(table.row(rows.back()));
    }
    activity_.pause();
    if (settings_.json) print_bench_json(plan_, rows);
    for (const auto& contestant : contestants_) contestant->finish();
    return 0;
  }

 private:
  // Every program is looked for before the first is started.
  void start() {
    const Seconds patience(settings_.timeout);
    std::vector<std::pair<std::string, Command>> all{{"tacit over " + plan_.world, tacit_command(settings_)}};
    for (const std::string& library : plan_.beside)
      all.emplace_back(library, library_command(library, plan_.workers));
    for (const auto& [name, command] : all)
      contestants_.push_back(std::make_unique<Contestant>(name, command, patience));
  }

  // A line of the table.
  void print(const std::string& line) const {
    if (settings_.json) return;
    activity_.pause();
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  BenchRow measure_size(std::size_t bytes, std::size_t sizes_done) {
    std::vector<std::vector<double>> seconds(contestants_.size());
    for (int turn = 0; turn < kTurns; ++turn)
      for (std::size_t i = 0; i < contestants_.size(); ++i) {
        activity_.now(fmt::format("{} bytes: turn {} of {} of {} (size {} of {})", bytes, turn + 1, kTurns,
                                  contestants_[i]->name(), sizes_done + 1, sizes_.size()));
        seconds[i].push_back(contestants_[i]->turn({settings_.what, bytes}));
      }
    BenchRow row{bytes, median(seconds[0]), {}};
    for (std::size_t i = 1; i < seconds.size(); ++i) row.theirs.push_back(median(seconds[i]));
    return row;
  }

  const Settings settings_;
  const Activity activity_;
  std::vector<std::size_t> sizes_;
  BenchPlan plan_;
  std::vector<std::unique_ptr<Contestant>> contestants_;  // Tacit first
};

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto* bench = app.add_subcommand("bench", "Measure exchanges between workers, beside other libraries");
  bench->footer(
      "Each contestant is a set of processes or threads of its own; they take turns at every size, and the "
      "table gives "
      "medians.\nExample:\n  tacit bench allreduce --world threads --workers 4 --sizes 4KiB,1MiB --beside "
      "gloo,openmpi");
  auto s = std::make_shared<Settings>();
  bench->option_defaults()->always_capture_default();
  bench->add_option("what", s->what, "allreduce, latency, bandwidth or compress")->required();
  bench->add_option("--world", s->world, "How Tacit's workers reach each other: threads, tcp or mpi");
  bench->add_option("--workers", s->workers, "Number of workers, and of ranks of every other library");
  bench->add_option("--sizes", s->sizes, "Bytes of a vector or message, such as 4096, 4KiB, 1MiB, 10MB");
  bench->add_option("--beside", s->beside, "Libraries to run beside Tacit: gloo, openmpi");
  bench->add_flag("--tls,!--insecure-plaintext", s->tls,
                  "Encrypt --world tcp, as `tacit launch` does if nothing is said, or do not");
  bench->add_flag("--sockets-only", s->sockets_only,
                  "Keep what ranks of --world tcp send each other on the socket, as between machines");
  bench->add_option("--timeout", s->timeout,
                    "Seconds after which a contestant that gives no answer is ended");
  bench->add_option("--compress", s->compress,
                    "compress: the one to measure, such as topk:ratio=0.01 (empty: all)");
  bench->add_option("--values", s->values, "compress: floats in the vector");
  bench->add_flag("--json", s->json, "Print an array of objects, one per size");
  bench->callback([=, &action] {
    action = [=] {
      if (s->what == "follow") return follow_bench(s->world, s->workers);
      if (s->what == "compress") return bench_compress(s->compress, s->values, s->json);
      return BenchCommand(*s).run();
    };
  });
}

}  // namespace tacit::cli
