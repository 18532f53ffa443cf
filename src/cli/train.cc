// SPDX-License-Identifier: MIT
// tacit train: the whole of a run, from the command line to the summary.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/world_options.h"
#include "tacit/core/error.h"
#include "tacit/runlog/writer.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/optimizer.h"
#include "tacit/train/schedule.h"
#include "tacit/train/trainer.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

struct Settings {
  TrainOptions train;
  std::string model = "cnn";
  std::string data = "fashion-mnist";
  WorldSettings world;
  fs::path out;
  bool json = false;
  bool quiet = false;
};

// Sends what happens to the screen and, where one is kept, to the run log.
class Observer final : public TrainObserver {
 public:
  Observer(Progress& progress, RunLogWriter* log) : progress_(progress), log_(log) {}
  void on_steps(const StepsDone& event) override {
    progress_.on_steps(event);
    if (log_ != nullptr) log_->write(event);
  }
  void on_evaluation(const Evaluated& event) override {
    progress_.on_evaluation(event);
    if (log_ != nullptr) log_->write(event);
  }
  void on_warning(const std::string& what) override { spdlog::warn("{}", what); }

 private:
  Progress& progress_;
  RunLogWriter* log_;
};

// 1234567.8 -> "1,234,568"
std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (b >= 1e9) return fmt::format("{:.2f} GB", b / 1e9);
  if (b >= 1e6) return fmt::format("{:.1f} MB", b / 1e6);
  return fmt::format("{:.1f} kB", b / 1e3);
}

void print_table(const Summary& s) {
  const auto row = [](const char* name, const std::string& value) { fmt::print("{:<15} {}\n", name, value); };
  fmt::print("\n");
  row("status", s.status);
  row("strategy",
      fmt::format("{} with {} worker{} ({})", s.strategy, s.workers, s.workers == 1 ? "" : "s", s.world));
  row("model, data", s.model + ", " + s.data);
  row("steps", fmt::format("{} ({} samples in {:.1f} s of training)", s.steps,
                           grouped(static_cast<double>(s.samples)), s.seconds));
  if (s.loss) row("loss", fmt::format("{:.4f} in training, last steps", *s.loss));
  if (s.test_loss) row("test loss", fmt::format("{:.4f}", *s.test_loss));
  if (s.accuracy) row("test accuracy", fmt::format("{:.2f} %", 100 * *s.accuracy));
  row("samples/s", grouped(s.samples_per_second));
  row("bytes sent", fmt::format("{} in {} messages, all workers together", bytes_text(s.bytes_wire),
                                grouped(static_cast<double>(s.messages))));
  if (!s.weights_hash.empty()) row("weights hash", s.weights_hash);
}

// Everything that can be refused before the ranks meet.
void check(const Settings& s) {
  check(s.world);
  if (s.train.batch < 1)
    throw InvalidConfig(fmt::format("--batch {} is too small; give 1 or more", s.train.batch));
  if (s.train.epochs < 1)
    throw InvalidConfig(fmt::format("--epochs {} is too few; give 1 or more", s.train.epochs));
  if (s.train.steps < 0)
    throw InvalidConfig(fmt::format("--steps {} is too few; give 1 or more", s.train.steps));
  if (s.train.log_every < 1)
    throw InvalidConfig(fmt::format("--log-every {} is too small; give 1 or more", s.train.log_every));
  if (!(s.train.lr > 0) || !std::isfinite(s.train.lr))
    throw InvalidConfig(fmt::format("--lr {} does not train; give a positive number", s.train.lr));
  make_optimizer(s.train.optimizer);
  make_schedule(s.train.schedule);
}

fs::path make_folder(const fs::path& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error || !fs::is_directory(out))
    throw InvalidConfig(fmt::format("cannot make the folder {} ({}); give --out a place you may write to",
                                    out.string(), error ? error.message() : "a file is in the way"));
  return out;
}

constexpr const char* kSummaryFile = "summary.json";

// Begins a run's files. An older summary goes, so that it never stands beside another run's log.
std::unique_ptr<RunLogWriter> open_log(const fs::path& out) {
  auto log = std::make_unique<RunLogWriter>(make_folder(out) / "run.jsonl");
  std::error_code error;
  fs::remove(out / kSummaryFile, error);
  if (error || fs::exists(out / kSummaryFile))
    throw InvalidConfig(fmt::format("cannot replace {} ({}); move it away or give another --out",
                                    (out / kSummaryFile).string(),
                                    error ? error.message() : "it is not a file"));
  return log;
}

// What a process needs before its ranks can train.
struct Prepared {
  Prepared(const Settings& s, const World& world)
      : models(all_models(
            std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / world.local_ranks()))) {
    check_compression(s.train, builtin_strategies(), world.size());
    data = load_dataset(s.data);
    context = {data.train.shape, data.train.classes, s.train.seed};
    total = total_steps(s.train, data.train.size(), world.size());
    parameters = make_model(models, s.model, context)->params().size();
    if (!s.out.empty() && world.rank() == 0) log = open_log(s.out);
  }

  ModelRegistry models;
  DataPair data;
  ModelContext context;
  std::int64_t total = 0;
  std::size_t parameters = 0;
  std::unique_ptr<RunLogWriter> log;  // rank 0's, with --out
};

// Peers in other processes wait for this one: they learn why it does not come.
std::unique_ptr<Prepared> prepare(const Settings& settings, World& world) {
  try {
    return std::make_unique<Prepared>(settings, world);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    if (!world.one_process()) world.run([&](Process&) { std::rethrow_exception(error); });
    throw;
  }
}

bool is_interrupt(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted&) {
    return true;
  } catch (...) {
    return false;
  }
}

// Where a signal goes to every process, a peer may be gone before this process has looked at its own.
std::exception_ptr cause(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost& lost) {
    return StopSignals::asked() ? std::make_exception_ptr(Interrupted(lost.what())) : error;
  } catch (...) {
    return error;
  }
}

class TrainCommand {
 public:
  explicit TrainCommand(Settings settings) : settings_(std::move(settings)) {}

  int run() {
    check(settings_);
    World world = open_world(settings_.world, settings_.quiet);
    try {
      return run_in(world);
    } catch (...) {
      return complain(std::current_exception());  // before the world goes
    }
  }

 private:
  int run_in(World& world) {
    const std::unique_ptr<Prepared> prepared = prepare(settings_, world);
    const SignalWatch watch(world);  // to the end: a launcher may end the processes of a failed run
    RunLogWriter* const log = prepared->log.get();
    if (log != nullptr) log->write(started(world, *prepared));

    const bool silent = settings_.quiet || settings_.json || world.rank() != 0;
    Progress progress(Progress::style_for_stderr(silent), prepared->total,
                      settings_.train.batch * world.size());
    Observer observer(progress, log);
    const TrainJob job{prepared->data,
                       builtin_strategies(),
                       [&] { return make_model(prepared->models, settings_.model, prepared->context); },
                       settings_.train,
                       observer,
                       StopSignals::asked};
    const Summary summary = run_job(world, job);
    progress.close();
    if (world.rank() == 0) settings_.json ? fmt::print("{}", to_json_text(summary)) : print_table(summary);
    if (log != nullptr) write_account(*log, summary);
    if (error_) std::rethrow_exception(error_);
    return 0;
  }

  // Trains, and keeps the error that ended the run, if one did. The summary is of all ranks; in a process that has only
  // its own report, because the run failed or it is not rank 0, of that one.
  Summary run_job(World& world, const TrainJob& job) {
    std::vector<RankReport> reports(world.one_process() ? static_cast<std::size_t>(world.size()) : 1);
    std::string status = "finished";
    std::string message;
    try {
      world.run([&](Process& me) {
        RankReport& mine = reports[world.one_process() ? static_cast<std::size_t>(me.rank()) : 0];
        train_rank(me, job, mine);
        if (world.one_process()) return;
        if (auto all = gather_reports(me.control(), mine); me.rank() == 0) reports = std::move(all);
      });
    } catch (const std::exception& error) {
      error_ = cause(std::current_exception());
      status = is_interrupt(error_) ? "interrupted" : "failed";
      if (status == "failed") message = error.what();
    }
    Summary summary = summarize(job, reports, status);
    if (status == "finished" && !all_equal(reports)) {
      summary.status = "failed";
      message = "the strategy finished with different weights on different ranks";
      error_ = std::make_exception_ptr(Bug(message + "; this is a defect in the strategy"));
    }
    summary.error = message;
    summary.workers = world.size();
    summary.model = settings_.model;
    summary.data = settings_.data;
    summary.world = world.name();
    return summary;
  }

  // What the run itself died of is worth more than that its account could not be written.
  void write_account(RunLogWriter& log, const Summary& summary) {
    try {
      log.write(summary);
      write_summary(summary, settings_.out / kSummaryFile);
    } catch (const Error&) {
      if (!error_) error_ = std::current_exception();
    }
  }

  RunStarted started(const World& world, const Prepared& prepared) const {
    const TrainOptions& o = settings_.train;
    return {TACIT_VERSION,
            o.strategy + (o.compress.empty() ? "" : " with " + o.compress),
            settings_.model,
            settings_.data,
            o.optimizer,
            o.schedule,
            world.name(),
            world.size(),
            o.batch,
            o.lr,
            o.seed,
            prepared.total,
            static_cast<std::int64_t>(prepared.parameters)};
  }

  const Settings settings_;
  std::exception_ptr error_;
};

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto* train = app.add_subcommand("train", "Train a model with several workers and report how it went");
  train->footer(
      "Strategies, models, data sets, optimisers and schedules are written name:key=value,key=value; `tacit "
      "list` "
      "names them.\nExample:\n  tacit train --strategy local:period=8 --workers 4 --model cnn --data "
      "fashion-mnist "
      "--epochs 2 --out out/local8");
  auto s = std::make_shared<Settings>();
  train->option_defaults()->always_capture_default();
  train->add_option("--strategy", s->train.strategy, "How workers keep together");
  train->add_option("--compress", s->train.compress,
                    "Compressor of what workers exchange, such as topk:ratio=0.01,ef or onebit,ef");
  add_world_options(*train, s->world);
  train->add_option("--model", s->model, "Network to train");
  train->add_option("--data", s->data, "Data set");
  auto* epochs = train->add_option("--epochs", s->train.epochs, "Passes over the data");
  train->add_option("--steps", s->train.steps, "Steps per worker, in place of --epochs (0: use --epochs)")
      ->excludes(epochs);
  train->add_option("--batch", s->train.batch,
                    "Samples per step and worker; the global batch is this times --workers");
  train->add_option("--lr", s->train.lr, "Learning rate");
  train->add_option("--schedule", s->train.schedule,
                    "Learning-rate schedule: constant, warmup, step, cosine, poly, each with warmup=STEPS");
  train->add_option("--optimizer", s->train.optimizer, "Inner optimiser: sgd, adam, adamw");
  train->add_option("--seed", s->train.seed, "Seed of weights and sample order; equal seeds give equal runs");
  train->add_option("--log-every", s->train.log_every, "Steps between run-log events");
  train->add_option("--out", s->out, "Folder for run.jsonl and summary.json, which are overwritten");
  train->add_flag("--json", s->json, "Print the summary as JSON, and no progress");
  train->add_flag("--quiet", s->quiet, "Show no progress");
  train->callback([=, &action] {
    action = [=] {
      spdlog::set_default_logger(spdlog::stderr_color_mt("tacit"));
      spdlog::set_pattern("tacit: %^%l%$: %v");
      return TrainCommand(*s).run();
    };
  });
}

}  // namespace tacit::cli
