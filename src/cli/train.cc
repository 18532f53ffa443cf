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
#include "cli/stop_signals.h"
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
  int workers = 1;
  double timeout = 1800;
  double stall = 30;
  fs::path out;
  bool json = false;
  bool quiet = false;
};

// Turns the signal into an interrupt of the world, which a signal handler may not do itself.
class SignalWatch {
 public:
  explicit SignalWatch(World& world)
      : thread_([&world](const std::stop_token& token) {
          while (!token.stop_requested() && !StopSignals::asked())
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          if (StopSignals::asked()) world.interrupt();
        }) {}

 private:
  const StopSignals signals_;
  std::jthread thread_;
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

// Everything that can be refused before data is read or a file made.
void check(const Settings& s) {
  if (s.workers < 1)
    throw InvalidConfig(fmt::format("--workers {} is not a number of workers; give 1 or more", s.workers));
  if (s.train.batch < 1)
    throw InvalidConfig(fmt::format("--batch {} is too small; give 1 or more", s.train.batch));
  if (s.train.epochs < 1)
    throw InvalidConfig(fmt::format("--epochs {} is too few; give 1 or more", s.train.epochs));
  if (s.train.steps < 0)
    throw InvalidConfig(fmt::format("--steps {} is too few; give 1 or more", s.train.steps));
  if (s.train.log_every < 1)
    throw InvalidConfig(fmt::format("--log-every {} is too small; give 1 or more", s.train.log_every));
  for (const auto& [name, seconds] : {std::pair{"--timeout", s.timeout}, std::pair{"--stall", s.stall}})
    if (!(seconds > 0))
      throw InvalidConfig(fmt::format("{} {} is no limit; give a positive number of seconds", name, seconds));
  if (!(s.train.lr > 0) || !std::isfinite(s.train.lr))
    throw InvalidConfig(fmt::format("--lr {} does not train; give a positive number", s.train.lr));
  make_strategy(builtin_strategies(), s.train.strategy, s.workers);
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

class TrainCommand {
 public:
  explicit TrainCommand(Settings settings)
      : settings_(std::move(settings)),
        models_(all_models(std::max(
            1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, settings_.workers)))) {}

  int run() {
    World::refuse_launchers();
    check(settings_);
    const DataPair data = load_dataset(settings_.data);
    const ModelContext context{data.train.shape, data.train.classes, settings_.train.seed};
    const std::int64_t total = total_steps(settings_.train, data.train.size(), settings_.workers);
    const std::size_t parameters = make_model(models_, settings_.model, context)->params().size();

    std::unique_ptr<RunLogWriter> log;
    if (!settings_.out.empty()) log = open_log(settings_.out);
    World world = World::threads(settings_.workers, {.limits = limits()});
    if (log) log->write(started(world, total, parameters));

    Progress progress(Progress::style_for_stderr(settings_.quiet || settings_.json), total,
                      settings_.train.batch * settings_.workers);
    Observer observer(progress, log.get());
    const TrainJob job{data,
                       builtin_strategies(),
                       [&] { return make_model(models_, settings_.model, context); },
                       settings_.train,
                       observer,
                       [] { return StopSignals::asked(); }};
    const Summary summary = run_job(world, job);
    progress.close();
    settings_.json ? fmt::print("{}", to_json_text(summary)) : print_table(summary);
    if (log) write_account(*log, summary);
    if (error_) std::rethrow_exception(error_);
    return 0;
  }

 private:
  // Trains, and keeps the error that ended the run, if one did.
  Summary run_job(World& world, const TrainJob& job) {
    std::vector<RankReport> reports(static_cast<std::size_t>(settings_.workers));
    std::string status = "finished";
    std::string message;
    try {
      const SignalWatch watch(world);
      world.run([&](Process& me) { train_rank(me, job, reports[static_cast<std::size_t>(me.rank())]); });
    } catch (const Interrupted&) {
      status = "interrupted";
      error_ = std::current_exception();
    } catch (const std::exception& error) {
      status = "failed";
      message = error.what();
      error_ = std::current_exception();
    }
    Summary summary = summarize(job, reports, status);
    if (status == "finished" && !all_equal(reports)) {
      summary.status = "failed";
      message = "the strategy finished with different weights on different ranks";
      error_ = std::make_exception_ptr(Bug(message + "; this is a defect in the strategy"));
    }
    summary.error = message;
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

  WaitLimits limits() const {
    return {Seconds(settings_.timeout), Seconds(settings_.stall),
            [](const std::string& line) { spdlog::warn(line); }};
  }

  RunStarted started(const World& world, std::int64_t total, std::size_t parameters) const {
    const TrainOptions& o = settings_.train;
    return {TACIT_VERSION,
            o.strategy,
            settings_.model,
            settings_.data,
            o.optimizer,
            o.schedule,
            world.name(),
            world.size(),
            o.batch,
            o.lr,
            o.seed,
            total,
            static_cast<std::int64_t>(parameters)};
  }

  const Settings settings_;
  const ModelRegistry models_;
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
  train->add_option("--workers", s->workers, "Number of workers, as threads of this process");
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
  train->add_option("--timeout", s->timeout, "Seconds after which a wait for a worker is an error");
  train->add_option("--stall", s->stall, "Seconds after which a wait for a worker is reported");
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
