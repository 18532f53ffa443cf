// SPDX-License-Identifier: MIT
#include "cli/world_options.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <utility>
#include <vector>

#include "cli/terminal.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "world/plan.h"

namespace tacit::cli {
namespace {

using Kind = WorldChoice::Kind;
constexpr double kLostAfter = 10;
const std::array<std::pair<std::string, Kind>, 4> kWorlds{
    {{"auto", Kind::kAuto}, {"threads", Kind::kThreads}, {"tcp", Kind::kTcp}, {"mpi", Kind::kMpi}}};

Kind kind_named(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [each, kind] : kWorlds) {
    if (each == name) return kind;
    known.push_back(each);
  }
  throw InvalidConfig(unknown_name("world", name, known));
}

bool native_collectives(const std::string& name) {
  const std::vector<std::string> known{"tacit", "native"};
  if (name != known[0] && name != known[1])
    throw InvalidConfig(unknown_name("kind of collectives", name, known));
  return name == known[1];
}

// Options that a world of threads would not look at.
void refuse_tcp_options(const WorldSettings& s) {
  for (const auto& [name, given] :
       {std::pair{"--rendezvous", !s.rendezvous.empty()}, std::pair{"--key-file", !s.key_file.empty()},
        std::pair{"--insecure-plaintext", s.insecure_plaintext},
        std::pair{"--lost-after", s.lost_after.has_value()}})
    if (given)
      throw InvalidConfig(
          fmt::format("{} is about workers that are processes, and these are threads of one; leave it out, "
                      "or start the program "
                      "with tacit launch",
                      name));
}

WorldChoice choice_of(const WorldSettings& s) {
  return {kind_named(s.world), s.workers, s.rendezvous, s.key_file, s.insecure_plaintext};
}

}  // namespace

void add_world_options(CLI::App& app, WorldSettings& s) {
  app.add_option(
      "--workers", s.workers,
      "Number of workers, as threads of this process (1); under a launcher, as many as it started");
  app.add_option("--world", s.world, "What workers are: threads, tcp, mpi, or auto: as the launcher says");
  app.add_option("--rendezvous", s.rendezvous, "TCP: where workers meet, tcp://HOST:PORT or file://PATH");
  app.add_option("--key-file", s.key_file, "TCP: file with the job key, readable by you alone");
  app.add_flag("--insecure-plaintext", s.insecure_plaintext,
               "TCP: no key and no encryption; the network is closed");
  app.add_option("--lost-after", s.lost_after, "TCP: seconds of silence after which a worker is lost (10)");
  app.add_option("--collectives", s.collectives, "MPI: whose collectives, tacit or native");
  app.add_option(
      "--timeout", s.timeout,
      "Seconds after which a wait for a worker is an error; workers have 60 to meet, or this where it is "
      "less");
  app.add_option("--stall", s.stall, "Seconds after which a wait for a worker is reported");
}

std::optional<int> check(const WorldSettings& s) {
  kind_named(s.world);
  native_collectives(s.collectives);
  if (s.workers && *s.workers < 1)
    throw InvalidConfig(fmt::format("--workers {} is not a number of workers; give 1 or more", *s.workers));
  for (const auto& [name, seconds] : {std::pair{"--timeout", s.timeout}, std::pair{"--stall", s.stall},
                                      std::pair{"--lost-after", s.lost_after.value_or(kLostAfter)}})
    if (!(seconds > 0))
      throw InvalidConfig(fmt::format("{} {} is no limit; give a positive number of seconds", name, seconds));
  const WorldPlan plan = plan_world(choice_of(s), Environment::of_this_process());
  if (plan.kind != Kind::kThreads) return std::nullopt;
  refuse_tcp_options(s);
  return plan.size;
}

World open_world(const WorldSettings& s, bool quiet, bool survive, std::vector<Setting> alike) {
  WorldOptions options;
  options.limits = {Seconds(s.timeout), Seconds(s.stall),
                    [](const std::string& line) { spdlog::warn(line); }};
  options.lost_after = Seconds(s.lost_after.value_or(kLostAfter));
  options.survive = options.take_back = survive;
  options.native_collectives = native_collectives(s.collectives);
  options.settings = std::move(alike);
  options.settings.push_back({"--collectives", s.collectives});
  World world = World::open(choice_of(s), std::move(options));
  if (!quiet && world.rank() == 0 && !world.came_back() && !world.how().empty())
    LiveLines::of_stderr().say("tacit: " + world.how());
  return world;
}

}  // namespace tacit::cli
