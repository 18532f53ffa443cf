// SPDX-License-Identifier: MIT
// tacit simulate: a run on a cluster that exists only on paper.
#include "cli/simulate.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli/checkpoint_options.h"
#include "cli/commands.h"
#include "cli/log.h"
#include "cli/modules/module.h"
#include "cli/places.h"
#include "cli/training.h"
#include "sim/fault_draw.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/strategies/builtin.h"
#include "train/cost.h"
#include "train/data/shards.h"

namespace tacit::cli {
namespace {

constexpr int kMostWorkers = 1'000'000;  // as in a cluster file

std::size_t parameters_of(const SimulateSettings& s) {
  if (s.parameters) {
    if (*s.parameters == 0) throw InvalidConfig("--parameters 0 is no model; give 1 or more");
    return *s.parameters;
  }
  std::vector<std::string> known;
  for (const NamedSize& each : named_sizes()) {
    if (canonical(each.name) == canonical(s.training.model)) return each.parameters;
    known.push_back(each.name);
  }
  throw InvalidConfig(unknown_name("model", s.training.model, known) +
                      "; or say --parameters N, the number of them");
}

int run(SimulateSettings s) {
  s.cluster = find_file(kClusters, s.cluster);
  const Cluster cluster = check(s);
  start_log();
  // In virtual time nothing hangs: where no rank can go on, the simulator says so at once.
  WorldOptions options;
  options.limits = {kNever, kNever, [](const std::string& line) { fmt::print(stderr, "tacit: {}\n", line); }};
  options.lost_after = Seconds(s.lost_after);
  options.survive = !s.cost_only && survives(s.training);
  World world = sim_module().simulated(cluster, s.training.train.seed, std::move(options));
  return s.cost_only ? cost_in(world, s.training, parameters_of(s)) : train_in(world, s.training);
}

}  // namespace

void add_simulation_options(CLI::App& app, SimulateSettings& s) {
  add_training_options(app, s.training);
  app.add_option("--cluster", s.cluster, "Cluster file, or the name of one that `tacit list clusters` has")
      ->required();
  app.add_option("--workers", s.workers, "Number of workers, in place of the cluster file's");
  app.add_flag(
      "--cost-only", s.cost_only,
      "Send messages of the right sizes and compute nothing; --model is resnet50, bert-large or gpt2-xl");
  app.add_option("--parameters", s.parameters, "Parameters of the model, for --cost-only");
  app.add_option("--step-time", s.step_time, "Seconds that a gradient takes, in place of the cluster file's");
  app.add_option("--faults", s.faults,
                 "Crashes, cuts, stops and late messages by seed, beside those of the cluster file: "
                 "seed=7,rate=0.5 (per worker and minute),for=10min");
  app.add_option("--lost-after", s.lost_after, "Seconds of silence after which a worker is lost");
}

Cluster check(const SimulateSettings& s) {
  check(s.training);
  if (!s.cost_only && s.parameters)
    throw InvalidConfig("--parameters is for --cost-only; a model that is trained has the parameters it has");
  if (const CheckpointOptions& o = s.training.train.checkpoint;
      s.cost_only && !(o.folder + o.resume + s.training.init).empty())
    throw InvalidConfig(
        "--cost-only has no weights to save or to begin with; leave --checkpoint, --resume and --init out");
  if (s.cost_only && s.training.train.steps == 0)
    throw InvalidConfig("--cost-only has no data to pass over; say --steps N, the number of steps");
  if (s.cost_only && !Sharding::parse(s.training.train.shards).iid())
    throw InvalidConfig("--cost-only has no data to deal out; leave --shards out");
  if (s.cost_only && !s.training.train.compress.empty())
    throw InvalidConfig(
        "--cost-only has no gradients that " + s.training.train.compress +
        " could compress, and what it sends can depend on them; leave out one of --cost-only and "
        "--compress");
  const StrategyInfo& strategy = builtin_strategies().find(s.training.train.strategy);
  if (s.cost_only && strategy.sends == Sends::kBothWays)
    throw InvalidConfig("--cost-only has no gradients that " + strategy.name +
                        " could compress; leave one of the two out");
  s.cost_only ? void(parameters_of(s)) : check_names(s.training);
  if (s.workers && (*s.workers < 1 || *s.workers > kMostWorkers))
    throw InvalidConfig(
        fmt::format("--workers {} is not a number of workers; give 1 to {}", *s.workers, kMostWorkers));
  Cluster cluster = read_cluster(s.cluster, s.workers);
  sim_module();  // refused here where it is missing
  if (!(s.lost_after > 0) || !std::isfinite(s.lost_after))
    throw InvalidConfig("--lost-after is a number of seconds, more than 0");
  if (!s.faults.empty()) draw_faults(FaultDraw::parse(s.faults), Seconds(s.lost_after), cluster);
  if (!s.step_time) return cluster;
  if (!(*s.step_time >= 0)) throw InvalidConfig("--step-time is a number of seconds, 0 or more");
  cluster.step = Seconds(*s.step_time);
  cluster.trace.clear();
  return cluster;
}

std::vector<std::string> command_line(const SimulateSettings& s) {
  const TrainOptions& t = s.training.train;
  std::vector<std::string> words{"simulate"};
  const auto add = [&](const char* name, const auto& value) {
    words.emplace_back(name);
    words.push_back(fmt::format("{}", value));
  };
  add("--cluster", s.cluster.string());
  if (s.workers) add("--workers", *s.workers);
  add("--strategy", t.strategy);
  if (!t.compress.empty()) add("--compress", t.compress);
  add("--model", s.training.model);
  add("--data", s.training.data);
  add("--shards", t.shards);
  t.steps > 0 ? add("--steps", t.steps) : add("--epochs", t.epochs);
  if (t.bucket != TrainOptions{}.bucket) add("--bucket", t.bucket);
  add("--batch", t.batch);
  add("--lr", t.lr);
  add("--schedule", t.schedule);
  add("--optimizer", t.optimizer);
  add("--seed", t.seed);
  add("--log-every", t.log_every);
  add("--evaluate-every", t.evaluate_every);
  if (t.target) add("--target", *t.target);
  add("--out", s.training.out.string());
  if (s.cost_only) words.emplace_back("--cost-only");
  if (s.parameters) add("--parameters", *s.parameters);
  if (s.step_time) add("--step-time", *s.step_time);
  if (!s.faults.empty()) add("--faults", s.faults);
  add("--lost-after", s.lost_after);
  return words;
}

void add_simulate(CLI::App& app, Action& action) {
  auto* simulate = app.add_subcommand("simulate", "Train on a simulated cluster, in virtual time");
  simulate->footer(
      "The cluster file says how many workers there are, what joins them and how long they compute: "
      "clusters/ has "
      "some, docs/simulator.md says what they can hold.\nExamples:\n  tacit simulate --cluster "
      "clusters/ethernet-1g.toml --strategy local:period=8 --model mlp --epochs 1\n  tacit simulate "
      "--cluster "
      "clusters/hpc-1024.toml --cost-only --model resnet50 --steps 100");
  auto s = std::make_shared<SimulateSettings>();
  add_simulation_options(*simulate, *s);
  add_checkpoint_options(*simulate, s->training);
  simulate->callback([=, &action] {
    action = [=] {
      settle_checkpoint_options(*simulate, s->training);
      return run(*s);
    };
  });
}

}  // namespace tacit::cli
