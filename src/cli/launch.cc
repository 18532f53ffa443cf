// SPDX-License-Identifier: MIT
// tacit launch: starts a job's ranks on this machine or on others, and sees them through.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/launch/children.h"
#include "cli/launch/host_file.h"
#include "cli/launch/node.h"
#include "cli/launch/protocol.h"
#include "cli/launch/ranks.h"
#include "cli/launch/remote.h"
#include "cli/launch/supervisor.h"
#include "cli/launch/terminal_input.h"
#include "tacit/core/error.h"
#include "world/environment.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestJob = 64;
constexpr int kPipesPerProcess = 3;
constexpr int kSpareDescriptors = 32;
constexpr double kLongestGrace = 1e6;
constexpr const char* kUsage = "tacit launch -n 4 -- PROGRAM ARGUMENTS";

struct Settings {
  std::optional<int> ranks;
  fs::path hosts;
  std::string ssh = "ssh -o BatchMode=yes";
  std::string remote_tacit;
  std::string job;
  double grace = 15;
  int may_lose = 0;
  int restart = 0;
  bool no_prefix = false;
  bool insecure = false;
  bool node = false;
  std::vector<std::string> command;  // the program and its arguments
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

void check_job_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '-';
  });
  if (!plain || name.size() > kLongestJob)
    throw InvalidConfig(
        fmt::format("--job '{}' is no name of a job; use at most {} letters, digits, '.', '_' and '-'", name,
                    kLongestJob));
}

void check(const Settings& s) {
  if (!s.ranks && s.hosts.empty())
    throw InvalidConfig(fmt::format("how many ranks? Give -n N or --hosts FILE: {}", kUsage));
  if (s.ranks && *s.ranks < 1)
    throw InvalidConfig(fmt::format("-n {} is not a number of ranks; give 1 or more", *s.ranks));
  if (s.ranks && s.hosts.empty() && *s.ranks > kMostSlots)
    throw InvalidConfig(fmt::format(
        "-n {} is too many ranks for one machine; give {} or fewer, or --hosts FILE", *s.ranks, kMostSlots));
  if (s.command.empty() || s.command.front().empty())
    throw InvalidConfig(fmt::format("there is no program to start; write it after the options: {}", kUsage));
  if (!(s.grace >= 0 && s.grace <= kLongestGrace))
    throw InvalidConfig(fmt::format("--grace {} is no time; give 0 to {} seconds", s.grace, kLongestGrace));
  if (s.may_lose < 0)
    throw InvalidConfig(fmt::format("--may-lose {}: not a number of ranks; give 0 or more", s.may_lose));
  if (s.restart < 0)
    throw InvalidConfig(fmt::format("--restart {}: not a number of restarts; give 0 or more", s.restart));
  if (words_of(s.ssh).empty())
    throw InvalidConfig(
        "--ssh is empty; give the command that runs another one on a host, such as --ssh ssh");
  check_job_name(s.job);
}

// A launcher that starts this one several times makes a job of each.
void refuse_as_rank(const Environment& env) {
  const auto above = launcher_above(env);
  if (!above) return;
  throw InvalidConfig(fmt::format(
      "{0}={1} and {2}={3}: {4} has started tacit launch {3} times, and each would start a job of its own; "
      "start the "
      "program itself with {4}, or tacit launch once, without {4} (with --hosts FILE for several machines)",
      above->rank_name, above->rank, above->size_name, above->size, above->launcher));
}

Job make_job(const Settings& s, int size) {
  Job job;
  // Half of another random key is a name that no other job has.
  job.id = s.job.empty() ? JobKey::random().hex().substr(0, 16) : s.job;
  job.size = size;
  if (!s.insecure) job.key = JobKey::random();
  job.command = s.command;
  job.restarts = s.restart > 0;
  return job;
}

Supervisor::Options watch_options(const Settings& s, int size) {
  if (s.may_lose >= size)
    throw InvalidConfig(
        fmt::format("--may-lose {} leaves none of {} ranks; give {} or fewer", s.may_lose, size, size - 1));
  return {size, std::chrono::duration<double>(s.grace), s.may_lose, s.restart, !s.no_prefix};
}

void warn(Supervisor& supervisor, const Settings& s) {
  if (s.insecure)
    supervisor.say(
        "--insecure-plaintext: ranks talk without a key and unencrypted; use it on closed networks only");
}

int run_local(const Settings& s) {
  require_descriptors(kPipesPerProcess * *s.ranks + kSpareDescriptors);
  const Guard guard;  // first, while nothing is there that it should not have
  boost::asio::io_context loop(1);
  Supervisor supervisor(loop, watch_options(s, *s.ranks));
  Children children(loop, guard, supervisor);
  Listener listener = listen_on_loopback();
  Job job = make_job(s, *s.ranks);
  job.rendezvous = rendezvous_at("127.0.0.1", listener.port);
  warn(supervisor, s);

  Pipe typed;
  std::unique_ptr<TerminalInput> terminal;
  if (::isatty(STDIN_FILENO) == 1) {
    typed = make_pipe();
    terminal = std::make_unique<TerminalInput>(loop, std::move(typed.write));
  }
  LocalRanks ranks(children, job, {0, job.size});
  ranks.start(std::move(listener.socket), terminal ? typed.read.get() : STDIN_FILENO);
  typed.read.close();
  supervisor.run(ranks);
  return supervisor.exit_code();
}

int run_remote(const Settings& s) {
  RemotePlan plan;
  plan.hosts = place_ranks(read_host_file(s.hosts), s.ranks.value_or(0));
  const Share last = plan.hosts.back().share;
  const int size = last.first + last.count;
  require_descriptors(kPipesPerProcess * static_cast<int>(plan.hosts.size()) + kSpareDescriptors);
  const Guard guard;
  plan.job = make_job(s, size);
  plan.ssh = words_of(s.ssh);
  plan.tacit = s.remote_tacit.empty() ? fs::read_symlink("/proc/self/exe").string() : s.remote_tacit;
  plan.directory = fs::current_path().string();

  boost::asio::io_context loop(1);
  Supervisor supervisor(loop, watch_options(s, size));
  warn(supervisor, s);
  RemoteRanks ranks(loop, guard, supervisor, std::move(plan));
  ranks.start();
  supervisor.run(ranks);
  ranks.finish();
  return supervisor.exit_code();
}

int run(const Settings& s) {
  if (s.node) return run_node();
  check(s);
  refuse_as_rank(Environment::of_this_process());
  hide_inherited();
  ignore_broken_pipes();
  return s.hosts.empty() ? run_local(s) : run_remote(s);
}

}  // namespace

void add_launch(CLI::App& app, Action& action, const std::vector<std::string>& command) {
  auto* launch =
      app.add_subcommand("launch", "Start a program as the ranks of one job, here or on other machines");
  launch->footer(
      "Ranks find each other by the environment they get; see docs/launch.md. Their lines are shown with the "
      "rank in "
      "front. When one fails, the others are ended.\n"
      "Example:\n"
      "  tacit launch -n 4 -- ./train --epochs 3\n"
      "  tacit launch --hosts hosts.txt -- ./train --epochs 3\n"
      "where hosts.txt has lines such as\n"
      "  node1 slots=4\n"
      "  node2 slots=4   # HOST [slots=N], rank 0 is on the first one");
  auto s = std::make_shared<Settings>();
  launch->add_option("-n,--ranks", s->ranks, "Number of ranks; with --hosts, the first so many slots");
  auto* hosts =
      launch->add_option("--hosts", s->hosts, "File of the machines to run on, with lines of HOST [slots=N]");
  launch
      ->add_option("--ssh", s->ssh,
                   "Command that runs another one on a host, which must not ask for anything")
      ->needs(hosts)
      ->capture_default_str();
  launch
      ->add_option("--remote-tacit", s->remote_tacit,
                   "Path of this program on the hosts, if it is another one there")
      ->needs(hosts);
  launch->add_option("--job", s->job, "Name of the job; a random one if not given");
  launch->add_option("--grace", s->grace, "Seconds the others have to end by themselves after a rank failed")
      ->capture_default_str();
  launch
      ->add_option("--may-lose", s->may_lose,
                   "Ranks that may fail without the end of the job, for programs that go on without them")
      ->capture_default_str();
  launch
      ->add_option(
          "--restart", s->restart,
          "How many times in all a lost rank is started again, where the others go on and take it in")
      ->capture_default_str();
  launch->add_flag("--no-prefix", s->no_prefix,
                   "Pass output on unchanged, without the rank in front of its lines");
  launch->add_flag("--insecure-plaintext", s->insecure, "No key and no encryption between the ranks");
  launch->add_flag("--node", s->node)->group("");  // what --hosts starts there; not for users
  // For --help: take_command has them before the line is parsed.
  launch->add_option("program", s->command,
                     "The program of every rank, and its arguments; `--` may stand before it");
  launch->callback([=, &action, &command] {
    s->command = command;
    action = [=] { return run(*s); };
  });
}

}  // namespace tacit::cli
