// SPDX-License-Identifier: MIT
#include "cli/entrants.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cli/machine.h"
#include "tacit/core/error.h"

namespace tacit::cli {

std::vector<Entrant> entrants_of(const Experiment& e, Identifier& identify) {
  std::vector<Entrant> all;
  for (Trial& trial : trials_of(e)) {
    std::string name = e.contenders[trial.contender].name;
    if (e.workers.size() > 1) name += fmt::format(", {} workers", trial.workers);
    if (e.seeds.size() > 1) name += fmt::format(", seed {}", trial.seed);
    Identity identity = identify(trial.settings);
    all.push_back({std::move(trial), std::move(name), std::move(identity)});
  }
  return all;
}

std::vector<Identity> identities_of(const std::vector<Entrant>& entrants) {
  std::vector<Identity> all;
  for (const Entrant& each : entrants) all.push_back(each.identity);
  return all;
}

std::size_t pick_up(std::vector<Entrant>& entrants, const EarlierRuns& earlier) {
  std::size_t found = 0;
  for (Entrant& each : entrants) {
    if (each.earlier) continue;
    each.earlier = earlier.find(each.identity, each.trial.seed, each.trial.settings.training.out);
    if (!each.earlier) continue;
    each.last_line = "picked up from an earlier comparison";
    ++found;
  }
  return found;
}

void say_picked_up(std::size_t count, const std::vector<Entrant>& entrants,
                   const std::filesystem::path& out) {
  if (count > 0 && !out.empty())
    fmt::print(stderr, "{} of {} runs are picked up from {}; --fresh repeats them\n", count, entrants.size(),
               out.string());
}

Comparison comparison_of(const Experiment& e, const std::vector<Entrant>& entrants) {
  Comparison c{e.title, e.base.training.train.target, e.base.cost_only, {}, machine_name()};
  for (const Entrant& each : entrants) {
    const Trial& t = each.trial;
    const std::string& name = e.contenders[t.contender].name;
    if (c.rows.empty() || c.rows.back().name != name || c.rows.back().workers != t.workers)
      c.rows.push_back({name, t.workers, {}, {}});
    c.rows.back().outcomes.push_back(outcome_of(each));
  }
  c.set_speed_ups();
  return c;
}

int jobs_from(int said) {
  if (said < 0) throw InvalidConfig(fmt::format("--jobs {} is too few; give 1 or more", said));
  return said > 0 ? said : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace tacit::cli
