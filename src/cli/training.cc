// SPDX-License-Identifier: MIT
// What tacit train and tacit simulate share: the whole of a run in a world that is open, up to the summary.
#include "cli/training.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/store.h"
#include "cli/account.h"
#include "cli/checkpoint_options.h"
#include "cli/commands.h"
#include "cli/prepare.h"
#include "cli/print_or_drop.h"
#include "cli/progress.h"
#include "cli/summary_table.h"
#include "cli/terminal.h"
#include "core/thrown.h"
#include "tacit/core/error.h"
#include "tacit/core/space.h"
#include "tacit/core/version.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/trainer.h"
#include "train/advice.h"
#include "train/cost.h"
#include "train/divergence.h"
#include "train/evaluation_plan.h"
#include "train/model_file.h"
#include "world/signals.h"

namespace tacit::cli {
namespace {

// Sends what happens to the screen and to the account. What is told by the lowest living rank alone tells its process
// that it is the one that reports. Not once the run is asked to end: all ranks end then, one before the other.
class Observer final : public TrainObserver {
 public:
  Observer(Progress& progress, Account& account, bool& reports, bool silent)
      : progress_(progress), account_(account), reports_(reports), silent_(silent) {}
  void on_steps(const StepsDone& event) override {
    progress_.on_steps(event);
    account_.write(event);
  }
  void on_evaluation(const Evaluated& event) override {
    report();
    account_.write(event);
    progress_.on_evaluation(event);
  }
  void on_loss(const RankLost& event) override {
    report();
    account_.write(event);
    spdlog::warn("{}; the others go on", describe(event));
  }
  void on_return(const RankBack& event) override {
    report();
    account_.write(event);
    spdlog::info("rank {} is back at step {}", event.rank, event.step);
  }
  void on_warning(const std::string& what) override { spdlog::warn("{}", what); }
  void on_resume(const RunResumed& event) override {
    account_.write(event);
    if (!silent_) spdlog::info("goes on after step {} from {}", event.step, event.from);
    if (!event.dropped.empty()) spdlog::warn("{}: {}", event.from, event.dropped);
  }

 private:
  void report() {
    if (StopSignals::asked()) return;
    reports_ = true;
    account_.take_over();
  }

  Progress& progress_;
  Account& account_;
  bool& reports_;  // whether this process does; written by its trainer
  const bool silent_;
};

// This rank's share of the cores, or what OMP_NUM_THREADS says, which is for whoever knows of others on this machine.
int threads_per_rank(int local_ranks) {
  const char* const said = std::getenv("OMP_NUM_THREADS");
  if (const int wanted = said != nullptr ? std::atoi(said) : 0; wanted > 0) return wanted;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / local_ranks);
}

// What a process needs before its ranks can train.
struct Prepared {
  Prepared(const TrainSettings& s, const World& world, std::optional<DataPair> loaded)
      : models(all_models(threads_per_rank(world.local_ranks()))) {
    const bool resumes = !s.train.checkpoint.resume.empty();
    const bool begins = world.rank() == 0 && !world.came_back();
    if (!s.overwrite && !resumes && begins) Account::refuse_used(s.out);
    if (begins) clear_checkpoints(s);
    check_compression(s.train, builtin_strategies(), world.size());
    data = loaded ? std::move(*loaded) : load_dataset(s.data, place_in(world));
    context = {data.train.shape, data.train.classes, s.train.seed};
    total = total_steps(s.train, data.train.size(), world.size());
    spread = spread_among(s.train, data.train, world.size());
    const auto model = make(s);
    parameters = model->params().size();
    if (model->classifies()) guess = guess_of(data);
  }

  std::unique_ptr<Model> make(const TrainSettings& s) const {
    auto model = make_model(models, s.model, context);
    if (!s.init.empty()) load_model(s.init, *model);
    return model;
  }

  ModelRegistry models;
  DataPair data;
  ModelContext context;
  std::int64_t total = 0;
  std::size_t parameters = 0;
  std::optional<Guess> guess;
  std::optional<ShardSpread> spread;
};

// Whether the error says that the others gave this rank up.
bool lost_itself(const std::exception_ptr& error, int rank) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost& lost) {
    return lost.peer == rank;
  } catch (...) {
    return false;
  }
}

// Whether this process shows nothing before its summary.
bool is_silent(const TrainSettings& settings, const World& world) {
  return settings.quiet || settings.json || world.rank() != 0 || world.came_back();
}

// How one rank runs, whatever it is that it does; told what happens through the observer.
using RankBody = std::function<void(Process&, TrainObserver&, RankReport&)>;

// A run: its log, its progress, its summary and its end.
class Run {
 public:
  // With the guess that a model of classes must beat.
  Run(World& world, const TrainSettings& settings, RunStarted started, std::optional<Guess> guess)
      : world_(world),
        settings_(settings),
        started_(std::move(started)),
        guess_(guess),
        account_(settings.out, started_),
        reports_(world.rank() == 0 && !world.came_back()) {
    if (reports_) settings.train.checkpoint.resume.empty() ? account_.begin() : account_.go_on();
  }

  int operator()(const RankBody& body) {
    const SignalWatch watch(world_);  // to the end: a launcher may end the processes of a failed run
    const bool silent = is_silent(settings_, world_);
    const auto time = world_.trace_hash().empty() ? Progress::Time::kReal : Progress::Time::kVirtual;
    Progress progress(Progress::style_for_stderr(silent), time, started_.steps,
                      settings_.train.batch * world_.size());
    Observer observer(progress, account_, reports_, silent);
    const Summary summary = run_ranks(observer, body);
    write_account(summary);  // first: who reads what is printed may be gone
    progress.close();
    if (reports_ && settings_.json) print_or_drop(stdout, "{}", to_json_text(summary));
    // What was refused before the first step has no figures.
    const bool began = summary.steps > 0 || !error_ || !is<InvalidConfig>(error_);
    if (reports_ && !settings_.json && began) print_table(summary, settings_.train.target);
    if (reports_ && !settings_.json && !settings_.quiet && !summary.advice.empty())
      print_or_drop(stdout, "\n{}\n", summary.advice);
    if (error_) std::rethrow_exception(error_);
    return 0;
  }

 private:
  // Keeps the error that ended the run, if one did. The summary is of all ranks; in a process that has only its own
  // report, because the run failed, of that one.
  Summary run_ranks(TrainObserver& observer, const RankBody& body) {
    std::vector<RankReport> reports(world_.one_process() ? static_cast<std::size_t>(world_.size()) : 1);
    std::string status = "finished";
    std::string message;
    bool alone = false;
    try {
      world_.run([&](Process& me) {
        RankReport& mine = reports[world_.one_process() ? static_cast<std::size_t>(me.rank()) : 0];
        body(me, observer, mine);
        if (world_.one_process()) return;
        reports = gather(me, mine, observer);
      });
      if (std::none_of(reports.begin(), reports.end(), [](const RankReport& r) { return r.finished; }))
        throw InvalidConfig("every worker crashes in this cluster file before the end; leave one of them");
      // Ranks that were lost did not finish.
      std::erase_if(reports, [&](const RankReport& r) { return world_.one_process() && !r.finished; });
    } catch (const std::exception& error) {
      error_ = StopSignals::cause(std::current_exception());
      status = is<Interrupted>(error_) ? "interrupted" : is<Diverged>(error_) ? "diverged" : "failed";
      if (status != "interrupted") message = error.what();
      alone = !world_.one_process();
    }
    if (status == "finished" && !all_equal(reports)) {
      status = "failed";
      message = "the strategy finished with different weights on different ranks";
      error_ = std::make_exception_ptr(Bug(message + "; this is a defect in the strategy"));
    } else if (status == "finished") {  // every rank judges the same reports
      message = why_diverged(course_of(reports), guess_);
      if (!message.empty()) status = "diverged";
      if (!message.empty()) error_ = std::make_exception_ptr(Diverged("the run diverged: " + message));
    }
    Summary summary = summarize(settings_.train, reports, status);
    summary.error = message;
    summary.workers = world_.size();
    if (alone) summary.only_rank = world_.rank();
    summary.model = started_.model;
    summary.data = started_.data;
    summary.shard_spread = started_.shard_spread;
    summary.world = world_.name();
    summary.trace_hash = world_.trace_hash();
    if (const auto target = settings_.train.target)
      summary.target_seconds = seconds_to(reports.front().evaluations, *target);
    if (status == "finished") summary.advice = advice(summary, builtin_strategies(), AdviceWords::kProgram);
    for (const RankTimes& each : summary.ranks) account_.write(each);
    return summary;
  }

  // The accounts of all ranks that live. What a rank noticed of losses and evaluations is in its own alone.
  std::vector<RankReport> gather(Process& me, RankReport mine, TrainObserver& observer) {
    auto all = gather_reports(me.control(), mine);
    // Of these, and not of those that live now: some may have ended already.
    std::vector<int> ranks;
    for (const RankReport& each : all) ranks.push_back(each.rank);
    sort_by_entry(ranks, [&](int rank) { return me.control().entry(rank); });
    reports_ = ranks.front() == me.rank();
    if (!reports_) return all;
    for (std::size_t i = add_losses(me.control(), mine); i < mine.lost.size(); ++i)
      observer.on_loss(mine.lost[i]);  // after its last step
    all.front().lost = mine.lost;
    all.front().evaluations = mine.evaluations;
    return all;
  }

  // Whether the account is for others to write: for the rank that reports, and for those who gave this one up or went
  // on without it and have come to the end.
  bool is_others_account() const {
    if (!reports_) return true;
    if (!error_ || world_.one_process()) return false;
    return account_.has_summary() || lost_itself(error_, world_.rank());
  }

  // What the run itself died of is worth more than that its account could not be written.
  void write_account(const Summary& summary) {
    if (is_others_account()) return;
    try {
      account_.take_over();
      account_.finish(summary);
    } catch (const Error&) {
      if (!error_) error_ = std::current_exception();
    }
  }

  World& world_;
  const TrainSettings& settings_;
  const RunStarted started_;
  const std::optional<Guess> guess_;
  Account account_;
  std::exception_ptr error_;
  bool reports_;  // rank 0, or the first of those that live: Comm::head
};

RunStarted started(const World& world, const TrainSettings& s) {
  RunStarted event;
  event.version = version();
  event.strategy = s.train.strategy;
  event.compress = s.train.compress;
  event.world = world.name();
  event.workers = world.size();
  event.batch = s.train.batch;
  event.shards = s.train.shards;
  event.seed = s.train.seed;
  return event;
}

}  // namespace

bool survives(const TrainSettings& s) { return builtin_strategies().find(s.train.strategy).survives; }

int train_in(World& world, const TrainSettings& settings, std::optional<DataPair> data) {
  std::optional<Activity> loading(std::in_place, is_silent(settings, world),
                                  "loading " + settings.data + " ...");
  const auto prepared = prepare<Prepared>(world, settings, world, std::move(data));
  loading.reset();
  RunStarted event = started(world, settings);
  event.model = settings.model;
  event.data = settings.data;
  event.optimizer = settings.train.optimizer;
  event.schedule = settings.train.schedule;
  event.lr = settings.train.lr;
  event.steps = prepared->total;
  event.parameters = static_cast<std::int64_t>(prepared->parameters);
  event.shard_spread = prepared->spread;
  if (event.shard_spread && !is_silent(settings, world))
    spdlog::info("shards {}: {}", event.shards, describe(*event.shard_spread));
  const auto run = prepare<Run>(world, world, settings, event, prepared->guess);
  const Metadata about = describe_model(settings.model, prepared->context);
  std::exception_ptr unsaved;  // said at the end: what the run was like is worth more
  const auto save = [&](Model& model) {
    try {
      ModelCopy(model, about).write(settings.out / kModelFile);
    } catch (const std::exception& error) {
      unsaved = std::make_exception_ptr(Error(
          std::string(error.what()) + "; the run is done and accounted for, and its model is not saved"));
    }
  };
  const int code = (*run)([&](Process& me, TrainObserver& observer, RankReport& report) {
    const TrainJob job{prepared->data,
                       builtin_strategies(),
                       [&] { return prepared->make(settings); },
                       settings.train,
                       observer,
                       StopSignals::asked,
                       settings.out.empty() ? std::function<void(Model&)>{} : save,
                       about};
    train_rank(me, job, report);
  });
  if (unsaved) std::rethrow_exception(unsaved);
  return code;
}

int cost_in(World& world, const TrainSettings& settings, std::size_t parameters) {
  if (!settings.overwrite) Account::refuse_used(settings.out);
  check_compression(settings.train, builtin_strategies(), world.size());
  const Block vector = phantom_space().allocate(parameters);
  RunStarted event = started(world, settings);
  event.model = settings.model;
  event.data = "none";
  event.steps = settings.train.steps;
  event.parameters = static_cast<std::int64_t>(parameters);
  return Run(world, settings, event,
             std::nullopt)([&](Process& me, TrainObserver& observer, RankReport& report) {
    cost_rank(me, {builtin_strategies(), settings.train, vector.view(), observer, StopSignals::asked},
              report);
  });
}

void add_training_options(CLI::App& app, TrainSettings& s) {
  app.option_defaults()->always_capture_default();
  app.add_option("--strategy", s.train.strategy, "How workers keep together");
  app.add_option("--compress", s.train.compress,
                 "Compressor of what workers exchange, such as topk:ratio=0.01,ef or onebit,ef");
  app.add_option(
      "--bucket", s.train.bucket,
      "What of a gradient is exchanged while the rest is computed, by strategies that can: a size such "
      "as 256KiB; whole: nothing; auto: an eighth where that pays, which is with ssgd as it is");
  app.add_option("--model", s.model, "Network to train");
  app.add_option("--data", s.data, "Data set");
  app.add_option("--shards", s.train.shards,
                 "Which samples a worker has: iid: all, as all others; classes:K: those of K classes; "
                 "dirichlet:ALPHA: drawn shares of each class, the more unlike the smaller ALPHA");
  auto* epochs = app.add_option("--epochs", s.train.epochs, "Passes over the data");
  app.add_option("--steps", s.train.steps, "Steps per worker, in place of --epochs (0: use --epochs)")
      ->excludes(epochs);
  app.add_option("--batch", s.train.batch,
                 "Samples per step and worker; the global batch is this times the number of workers");
  app.add_option("--lr", s.train.lr, "Learning rate");
  app.add_option("--schedule", s.train.schedule,
                 "Learning-rate schedule: constant, warmup, step, cosine, poly, each with warmup=STEPS");
  app.add_option("--optimizer", s.train.optimizer, "Inner optimiser: sgd, adam, adamw");
  app.add_option("--seed", s.train.seed, "Seed of weights and sample order; equal seeds give equal runs");
  app.add_option("--log-every", s.train.log_every, "Steps between run-log events");
  app.add_option("--evaluate-every", s.train.evaluate_every,
                 "Steps between evaluations beside those at the end of an epoch (0: none)");
  app.add_option("--target", s.train.target,
                 "Test accuracy, between 0 and 1, whose time is wanted: evaluations are closer near it, and "
                 "no farther from "
                 "each other than --evaluate-every says (0: 20)");
  app.add_option("--out", s.out, "Folder for run.jsonl, summary.json and model.safetensors");
  app.add_flag("--overwrite", s.overwrite, "Replace what another run left in --out");
  app.add_flag("--json", s.json, "Print the summary as JSON, and no progress");
  app.add_flag("--quiet", s.quiet, "Show no progress");
}

}  // namespace tacit::cli
