// SPDX-License-Identifier: MIT
// tacit measure: times a gradient and the links among ranks, and writes a cluster file of them.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/alike.h"
#include "cli/commands.h"
#include "cli/log.h"
#include "cli/measurement.h"
#include "cli/prepare.h"
#include "cli/print_or_drop.h"
#include "cli/probe.h"
#include "cli/world_options.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "train/optimizer.h"
#include "world/signals.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

struct Settings {
  std::string model = "cnn";
  std::string data = "fashion-mnist";
  int batch = 32;
  double seconds = 10;
  std::string out = "cluster.toml";
  bool overwrite = false;
  bool quiet = false;
  WorldSettings world;
};

void check(const Settings& s) {
  check(s.world);
  if (s.batch < 1) throw InvalidConfig(fmt::format("--batch {} is too small; give 1 or more", s.batch));
  constexpr double kHour = 3600;
  if (!(s.seconds > 0 && s.seconds <= kHour))
    throw InvalidConfig(
        fmt::format("--seconds {} is no time to measure; give more than 0 and at most an hour", s.seconds));
}

// Before anything is measured in vain.
void check_out(const Settings& s) {
  const fs::path folder = fs::path(s.out).parent_path();
  if (!folder.empty() && !fs::is_directory(folder))
    throw InvalidConfig(fmt::format("there is no folder {} for --out {}; make it", folder.string(), s.out));
  if (!s.overwrite && fs::exists(s.out))
    throw InvalidConfig(fmt::format("{} is there already; give another --out, or --overwrite", s.out));
}

struct Workbench {
  Workbench(const Settings& s, const World& world)
      : models(all_models(
            std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / world.local_ranks()))) {
    if (world.rank() == 0) check_out(s);
    data = load_dataset(s.data, place_in(world));
    context = {data.train.shape, data.train.classes, 1};
    const Sampler fits(data.train.size(), static_cast<std::size_t>(s.batch), world.size(), context.seed);
    make_model(models, s.model, context);  // throws what is wrong with it on every rank
  }

  ModelRegistry models;
  DataPair data;
  ModelContext context;
};

// A step of training without its exchange.
class Step {
 public:
  Step(const Process& me, const Settings& s, const Workbench& bench)
      : rank_(me.rank()),
        data_(bench.data.train),
        model_(make_model(bench.models, s.model, bench.context)),
        optimizer_(make_optimizer("sgd:momentum=0.9")),
        sampler_(data_.size(), static_cast<std::size_t>(s.batch), me.size(), bench.context.seed) {}

  // As in training: the next batch is decoded while this one is computed.
  void operator()() {
    data_.samples->gather(sampler_.wanted(count_++, rank_), batch_);
    if (data_.samples->batches_ahead() > 0) data_.samples->expect(sampler_.wanted(count_, rank_));
    model_->compute_gradient(batch_);
    optimizer_->step(model_->gradient(), 1e-6F, model_->params());
  }

 private:
  const int rank_;
  const Dataset& data_;
  const std::unique_ptr<Model> model_;
  const std::unique_ptr<Optimizer> optimizer_;
  Sampler sampler_;
  Batch batch_;
  std::int64_t count_ = 0;
};

Measured measure_rank(Process& me, const Settings& s, const Workbench& bench) {
  Measured m;
  m.workers = me.size();
  m.model = s.model;
  m.data = s.data;
  m.batch = s.batch;
  const Seconds share = Seconds(s.seconds) / 3;
  Step step(me, s, bench);
  m.step = fit_steps(time_steps(
      me, [&] { step(); }, share));
  m.memory = time_memory(me);
  if (me.size() == 1) return m;
  m.pairs = time_pairs(me, share);
  m.together = fit_link(time_all_at_once(me, share));
  return m;
}

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr))); }

int run(const Settings& s) {
  check(s);
  make_writing_fail_without_signals();
  start_log();
  World world = open_world(s.world, s.quiet, false,
                           {{"--model", s.model},
                            {"--data", data_alike(s.data)},
                            {"--batch", std::to_string(s.batch)},
                            {"--seconds", exact(s.seconds)}});
  try {
    const auto bench = prepare<Workbench>(world, s, world);
    const SignalWatch watch(world);
    Measured measured;
    world.run([&](Process& me) {
      const Measured mine = measure_rank(me, s, *bench);
      if (me.rank() == 0) measured = mine;
    });
    for (const std::string& what : bench->data.train.samples->take_warnings(true)) spdlog::warn("{}", what);
    if (world.rank() != 0) return 0;
    measured.world = world.name();
    measured.date = today();
    write_whole_file(s.out, cluster_text(measured));
    if (!s.quiet)
      print_or_drop(stdout,
                    "{}\n{} is written; next: tacit compare --cluster {} --strategies "
                    "ssgd,local:period=8 --model {} --data {}\n",
                    measured_table(measured), s.out, s.out, s.model, s.data);
    return 0;
  } catch (...) {
    return complain(StopSignals::cause(std::current_exception()));  // before the world goes
  }
}

}  // namespace

void add_measure(CLI::App& app, Action& action) {
  auto* measure = app.add_subcommand(
      "measure",
      "Time a gradient and the links among workers, and write the cluster file that compare reads");
  measure->footer(
      "Run it where the training will run, with as many workers.\nExample:\n  tacit launch -n 4 -- tacit "
      "measure "
      "--model cnn --data fashion-mnist --out cluster.toml\n  tacit compare --cluster cluster.toml "
      "--strategies "
      "ssgd,local:period=8 --model cnn --data fashion-mnist");
  auto s = std::make_shared<Settings>();
  measure->option_defaults()->always_capture_default();
  measure->add_option("--model", s->model, "Network whose gradient is timed");
  measure->add_option("--data", s->data, "Data set");
  measure->add_option("--batch", s->batch, "Samples per step and worker");
  measure->add_option("--seconds", s->seconds, "About how long to measure; loading the data comes on top");
  measure->add_option("--out", s->out, "The cluster file to write");
  measure->add_flag("--overwrite", s->overwrite, "Replace the file where there is one");
  measure->add_flag("--quiet", s->quiet, "Print no table");
  add_world_options(*measure, s->world);
  measure->callback([=, &action] { action = [=] { return run(*s); }; });
}

}  // namespace tacit::cli
