// SPDX-License-Identifier: MIT
#include "adapters/torch/replica.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include "adapters/torch/check_optimizer.h"
#include "adapters/torch/settings_of.h"
#include "collectives/gather.h"
#include "core/hash.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "train/advice.h"
#include "transport/rank_list.h"

namespace tacit::torch {
namespace {

using Doing = Word::Doing;

constexpr const char* kExchange = "exchange()";
constexpr const char* kEqualGradients =
    "tacit: warning: all ranks computed the same gradient in their first step, to the bit: they seem to "
    "train on the "
    "same batches, and more ranks then bring nothing. torch::manual_seed(1) makes every process draw alike: "
    "seed each "
    "rank differently, torch::manual_seed(me.seed(1)), or give each its own part of the data\n";

::torch::optim::Optimizer& checked(::torch::optim::Optimizer& optimizer, ::torch::nn::Module& module) {
  check_optimizer(optimizer, module);
  return optimizer;
}

std::uint64_t hash_of(ConstFloatView x) { return hash_bytes(bytes_of(x)); }

// 0 where there is none.
std::uint64_t gradient_hash(ConstFloatView g) {
  const bool zero = kernels::max_abs(g) == 0;
  return zero ? 0 : std::max<std::uint64_t>(1, hash_of(g));
}

const StrategyRegistry& strategies_of(const Replicated::Options& options) {
  return options.strategies != nullptr ? *options.strategies : builtin_strategies();
}

}  // namespace

Replica::Replica(Process& process, const Given& given)
    : Replica(process, given,
              make_strategy(strategies_of(given.options), given.strategy, process.size(),
                            given.options.compress)) {}

Replica::Replica(Process& process, const Given& given, std::unique_ptr<Strategy> strategy)
    : process_(process),
      options_(given.options),
      known_(strategies_of(options_)),
      info_(known_.find(given.strategy)),
      strategy_text_(given.strategy),
      module_(given.module),
      optimizer_(checked(given.optimizer, given.module)),
      optimized_(parameters_of(given.optimizer)),
      flat_(given.module),
      inner_(given.optimizer, options_.compress),
      times_(process),
      worker_(process, {flat_, given.optimizer, inner_, times_, given.strategy, options_}),
      sample_(flat_.tensors()),
      overlap_(flat_,
               bucket_floats("Options::bucket", options_.bucket, flat_.params().size(), info_,
                             overlap_pays(*strategy, options_.compress)),
               !options_.uneven && !process.virtual_time(),
               [this](Slice bucket) { strategy_->ready(worker_, bucket); }),
      bytes_before_(bytes_sent()),
      start_(now()),
      checkpoints_({process, given.optimizer, flat_, worker_, strategy_, given.strategy, options_.compress}),
      strategy_(std::move(strategy)) {
  if (options_.weights_may_change && info_.keeps_weights)
    refuse("Options::weights_may_change",
           "does not work with it, which keeps weights of its own; use another strategy");
  if (options_.weights_may_change && options_.uneven)
    throw InvalidConfig(
        "Options::weights_may_change does not work with Options::uneven: a rank that has no more batches "
        "would not "
        "change its weights as the others do; leave one of them out");
  worker_.set_pieces(strategy_->pieces(process.size()));
  agree(process.control(), settings_of(module_, optimizer_, strategy_text_, options_));
  // Modules of ranks that are threads draw from one generator, so even what is not trained differs.
  for (const Bytes tensor : flat_.fixed()) process.comm().broadcast(tensor, 0);
  worker_.set_compress(options_.compress);
  worker_.exchange_by(overlap_);
  if (overlap_.readiness().overlaps()) worker_.set_buckets(overlap_.readiness().buckets());
  strategy_->start(worker_);
  sample_.take(flat_.params(), 0);
  if (info_.survives && process.rank() == 0 && process.world().starts_with("tcp") &&
      !process.comm().survives())
    std::cerr
        << "tacit: warning: " + info_.name +
               " can go on without ranks that are lost, but this world ends with the first one: open it "
               "with tacit::world_for(\"" +
               strategy_text_ + "\")\n";
}

void Replica::refuse(const std::string& call, const std::string& why) const {
  throw InvalidConfig(strategy_text_ + ": " + call + " " + why);
}

void Replica::require_no_point(const std::string& call) const {
  if (worker_.evaluating())
    throw InvalidConfig(
        call +
        " while the point of evaluation() is in place, which keeps the training weights aside; "
        "drop what evaluation() returned before it");
}

void Replica::require_training(const std::string& call) const {
  if (state_ == State::kFinished)
    throw InvalidConfig(
        call + (call == "finish()" ? " was called twice" : " after finish()") +
        ": training has ended; after finish() only evaluation(), mean(), sum(), account() and "
        "advice() are left");
  if (state_ == State::kExchanged && call != "apply()")
    throw InvalidConfig(call +
                        " after exchange() without apply(), which comes in between: it takes the place of "
                        "optimizer.step()");
  require_no_point(call);
}

void Replica::require_no_batches(const std::string& call) const {
  if (!batches_.empty())
    throw InvalidConfig(call +
                        " after accumulate() without a step: the gradients that are kept would be lost; call "
                        "step() first");
}

// Nobody but the strategy has changed the weights, and parameters and gradients are where they belong.
void Replica::look(const std::string& call) {
  if (state_ == State::kFinished) return void(flat_.bring_back());  // the weights are the user's again
  const auto changed = sample_.changed(flat_.params());
  if (changed && !options_.weights_may_change)
    throw InvalidConfig(
        call + " found weights of '" + flat_.name(*changed) +
        "' that changed since the last step; is optimizer.step() still in the loop? sync.step() takes its "
        "place. A loop that changes weights on purpose, alike on every rank, sets "
        "Options::weights_may_change");
  if (flat_.bring_back()) {
    if (info_.keeps_weights)
      refuse(call,
             "found other weights in the module, by torch::load() or to(), and it keeps weights of its own, "
             "which "
             "are not changed by that; load before Replicated is made");
    sample_.take(flat_.params(), worker_.t());
  }
  if (parameters_of(optimizer_) != optimized_) {
    check_optimizer(optimizer_, module_);
    optimized_ = parameters_of(optimizer_);
  }
}

Word Replica::word(Samples samples) {
  const std::uint64_t gradient = worker_.t() == 0 ? gradient_hash(flat_.gradient()) : 0;
  return {.doing = Doing::kStep, .samples = samples.value_or(-1), .gradient = gradient};
}

RollCall Replica::call_roll(Word word) {
  // Ranks that end with equal weights at every step need equal rates.
  word.equal_rates = options_.uneven || info_.applies_last;
  return {process_.control(), word, worker_.rates()};
}

void Replica::exchange_gradients(const std::string& call, Samples samples) {
  require_training(call);
  if (samples && info_.sends != Sends::kGradients)
    refuse(call,
           "cannot weigh a batch by its samples, because its steps are not each one mean of all ranks' "
           "gradients; "
           "leave samples out, or use ssgd");
  look(call);
  flat_.collect_gradients();
  overlap_.close(call, !samples && batches_.empty());
  samples = batches_.close(flat_.gradient(), samples);
  const bool first = worker_.t() == 0 && process_.size() > 1;
  const bool roll = samples || options_.uneven || first;
  if (worker_.pieces() == 0 && roll) process_.spend_compute(worker_.t());
  if (worker_.pieces() == 0 && !roll) spend_compute(process_, worker_.t(), overlap_.readiness());
  const TimeAccount::Exchange exchanging(times_);
  if (roll) {
    const RollCall all = call_roll(word(samples));
    if (first && all.equal_gradients() && process_.rank() == 0) std::cerr << kEqualGradients;
    weigh(samples, all);
    support_shadows(all, false);
  }
  overlap_.finish();
  worker_.put_off(call == kExchange);
  strategy_->step(worker_);
  worker_.put_off(false);
  ++steps_;
}

void Replica::weigh(Samples samples, const RollCall& all) {
  if (!samples) return;
  const FloatView g = flat_.gradient();
  if (*samples == 0) return kernels::fill(0, g);
  const double share = static_cast<double>(*samples) / static_cast<double>(all.samples());
  kernels::scale(static_cast<float>(share * all.active()), g);
}

void Replica::end_step() {
  state_ = State::kTraining;
  overlap_.next();
  worker_.set_t(worker_.t() + 1);
  sample_.take(flat_.params(), worker_.t());
  checkpoints_.look();
}

void Replica::step(Samples samples, std::optional<double> loss) {
  worker_.set_loss(loss);
  exchange_gradients("step()", samples);
  end_step();
}

void Replica::accumulate(Samples samples) {
  require_training("accumulate()");
  look("accumulate()");
  flat_.collect_gradients();
  overlap_.close("accumulate()", false);
  batches_.add(flat_.gradient(), samples);
  overlap_.next();
}

void Replica::exchange(Samples samples) {
  worker_.set_loss({});
  if (!info_.applies_last)
    refuse(kExchange,
           "cannot come apart from apply(), because its step does not end with the optimiser; use "
           "step(), with Options::before_apply to clip, or ssgd");
  if (options_.uneven)
    throw InvalidConfig(
        "exchange() with Options::uneven: ranks that have no more batches would not do what the loop does "
        "before "
        "apply(); use step(), with Options::before_apply to clip");
  exchange_gradients(kExchange, samples);
  state_ = State::kExchanged;
}

void Replica::apply() {
  require_training("apply()");
  if (state_ != State::kExchanged)
    throw InvalidConfig(
        "apply() without exchange(): first exchange(), then apply(); or step(), which is both");
  look("apply()");
  flat_.collect_gradients();  // what the user made of them
  worker_.apply_gradient();
  end_step();
}

void Replica::join() {
  require_training("join()");
  if (!options_.uneven)
    throw InvalidConfig(
        "join() without Options::uneven: ranks that may take different numbers of steps say so when "
        "Replicated is made; set it on every rank");
  require_no_batches("join()");
  look("join()");
  const TimeAccount::Exchange exchanging(times_);
  for (;;) {
    const RollCall all = call_roll({.doing = Doing::kNothing});
    if (all.doing() == Doing::kNothing) return;
    if (all.doing() == Doing::kStep) shadow_step(all);
    if (all.doing() == Doing::kEvaluation) {
      const EvaluationPoint theirs(worker_, *strategy_);
    }
  }
}

void Replica::shadow_step(const RollCall& all) {
  worker_.set_rates(all.rates());
  flat_.collect_gradients();  // the optimiser must see the one that is made up here
  support_shadows(all, true);
  overlap_.finish();
  strategy_->step(worker_);
  end_step();
}

void Replica::support_shadows(const RollCall& all, bool shadow) {
  if (all.active() == all.ranks()) return;
  stand_in(flat_.gradient(), all, shadow);
  if (info_.applies_last) return;
  // A mean of equal floats need not have their bits: equal weights stay as they are.
  const auto hashes = gather_values(process_.control(), hash_of(flat_.params()));
  const auto same = [&](const auto& said) { return said.what == hashes[0].what; };
  if (!std::all_of(hashes.begin(), hashes.end(), same)) stand_in(flat_.params(), all, shadow);
}

// A shadow's x becomes the mean over the others.
void Replica::stand_in(FloatView x, const RollCall& all, bool shadow) {
  std::vector<float> sum(x.size());
  if (!shadow) copy(x, FloatView(sum));
  process_.comm().sum(sum);
  if (!shadow) return;
  kernels::scale(1 / static_cast<float>(all.active()), sum);
  copy(sum, x);
}

std::unique_ptr<EvaluationPoint> Replica::evaluation() {
  require_no_point("evaluation()");
  if (state_ == State::kExchanged) require_training("evaluation()");
  look("evaluation()");
  const bool training = state_ == State::kTraining;
  if (training && options_.uneven) call_roll({.doing = Doing::kEvaluation});
  auto point = std::make_unique<EvaluationPoint>(worker_, *strategy_);
  if (training && info_.applies_last && !options_.uneven) compare_weights("evaluation()");
  return point;
}

Replica::Metric Replica::metric(double mine) {
  const RollCall all = call_roll({.doing = Doing::kMetric, .value = mine});
  return {all.value() / all.active(), all.value()};
}

Account Replica::account() const {
  const Seconds training = end_ ? *end_ - start_ : now() - start_ - worker_.evaluated();
  const TimeSpent spent = times_.spent(training);
  const double seconds = training.count();
  return {steps_,
          bytes_sent() - bytes_before_,
          seconds,
          spent.compute,
          spent.communicate,
          std::max(0.0, seconds - spent.compute - spent.communicate)};
}

std::string Replica::advice() {
  Summary run;
  run.strategy = strategy_text_;
  run.compress = options_.compress;
  run.workers = process_.size();
  run.world = process_.world();
  for (const auto& [rank, its] : gather_values(process_.control(), account())) {
    run.seconds = std::max(run.seconds, its.seconds);
    run.ranks.push_back({rank, its.computing, its.exchanging, its.waiting, its.bytes_sent});
  }
  return tacit::advice(run, known_, AdviceWords::kLibrary);
}

std::uint64_t Replica::bytes_sent() const { return process_.comm().ledger().training().wire(); }

void Replica::save(const std::string& folder, int keep) {
  require_training("save()");
  require_no_batches("save()");
  if (options_.uneven)
    throw InvalidConfig(
        "save() with Options::uneven: a rank that has joined would not save; call it where all train");
  look("save()");
  checkpoints_.save(folder, keep);
}

std::int64_t Replica::load(const std::string& folder) {
  require_training("load()");
  if (worker_.t() > 0)
    throw InvalidConfig("load() after " + std::to_string(worker_.t()) +
                        " steps, which it would undo on this rank alone; call it before the first one");
  const std::int64_t steps = checkpoints_.load(folder);
  sample_.take(flat_.params(), steps);
  return steps;
}

void Replica::finish() {
  require_training("finish()");
  require_no_batches("finish()");
  overlap_.require_none("finish()");
  look("finish()");
  if (options_.uneven) join();
  checkpoints_.finish();
  {
    const TimeAccount::Exchange exchanging(times_);
    strategy_->finish(worker_);
    worker_.average_buffers();
  }
  end_ = now() - worker_.evaluated();
  state_ = State::kFinished;
  sample_.take(flat_.params(), worker_.t());
  compare_weights("finish()");
}

void Replica::compare_weights(const std::string& call) {
  std::uint64_t mine = flat_.hash();
  if (finished())  // until then each has the buffers of its own batches
    for (const FloatView buffer : flat_.buffers()) mine = hash_bytes(bytes_of(ConstFloatView(buffer)), mine);
  const auto hashes = gather_values(process_.control(), mine);
  std::vector<int> others;
  for (const auto& said : hashes)
    if (said.what != hashes[0].what) others.push_back(said.rank);
  if (others.empty()) return;
  throw Mismatch(call + " found that the weights of " + name_ranks(others) + " differ from those of rank " +
                 std::to_string(hashes[0].rank) +
                 "; did the loop load, change or step weights on some ranks only, or with other settings?");
}

}  // namespace tacit::torch
