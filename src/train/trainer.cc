// SPDX-License-Identifier: MIT
#include "tacit/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/hash.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/world/agreement.h"
#include "train/admissions.h"
#include "train/data/shards.h"
#include "train/evaluation_plan.h"
#include "train/flat_worker.h"
#include "train/link_times.h"
#include "train/optimizer.h"
#include "train/readiness.h"
#include "train/run_checkpoints.h"
#include "train/schedule.h"
#include "train/score.h"
#include "train/time_account.h"

namespace tacit {
namespace {

// What this rank draws from, where it has samples of its own.
std::unique_ptr<ShardSampler> make_shard(const Process& me, const TrainJob& job) {
  const TrainOptions& o = job.options;
  const Sharding how = Sharding::parse(o.shards);
  if (how.iid()) return nullptr;
  std::vector<Shard> all = deal_samples(how, job.data.train.samples->labels(), me.size(), o.seed);
  return std::make_unique<ShardSampler>(std::move(all[static_cast<std::size_t>(me.rank())]),
                                        static_cast<std::size_t>(o.batch),
                                        ShardSampler::Place{me.rank(), o.seed});
}

// One rank's run.
class RankTrainer {
 public:
  RankTrainer(Process& me, const TrainJob& job, RankReport& report)
      : me_(me),
        job_(job),
        report_(report),
        clock_(me.tasks().clock()),
        model_(job.make_model()),
        optimizer_(make_optimizer(job.options.optimizer)),
        schedule_(make_schedule(job.options.schedule)),
        strategy_(make_strategy(job.strategies, job.options.strategy, me.size(), job.options.compress)),
        times_(me),
        sampler_(job.data.train.size(), static_cast<std::size_t>(job.options.batch), me.size(),
                 job.options.seed),
        total_(total_steps(job.options, job.data.train.size(), me.size())),
        shard_(make_shard(me, job)),
        worker_(me, job.options.seed,
                {*model_, *optimizer_, *schedule_, job.options.lr, total_, job.data.train, sampler_, times_,
                 shard_.get()}),
        readiness_(model_->tensors(), bucket(), [this](Slice bucket) { strategy_->ready(worker_, bucket); }),
        plan_(job.options.evaluate_every, job.options.target),
        checkpoints_({me, job, worker_, *model_, *optimizer_, *strategy_}),
        admissions_(me, settings_of_run()) {
    TACIT_CHECK(job.options.log_every >= 1, "log_every counts steps");
    report_.rank = me.rank();
    worker_.set_compress(job.options.compress);
    if (readiness_.overlaps()) worker_.set_buckets(readiness_.buckets());
    worker_.set_pieces(strategy_->pieces(me.size()));
    if (shard_ && worker_.pieces() > 0)
      throw InvalidConfig("the strategy " + job.options.strategy +
                          " chooses which samples a rank computes, and --shards " + job.options.shards +
                          " says which it has; leave one of the two out");
  }

  void run() {
    const std::int64_t first = me_.outside() ? come_back() : begin();
    const std::int64_t per_epoch = sampler_.steps_per_epoch();
    for (std::int64_t t = first; t < total_; ++t) {
      if (job_.stop()) throw Interrupted("rank " + std::to_string(me_.rank()) + ": the run was interrupted");
      step(t);
      const bool last = t + 1 == total_;
      if ((t + 1) % job_.options.log_every == 0 || last) log(t);
      if (last) finish();
      if ((t + 1) % per_epoch == 0 || last || plan_.due(t + 1)) evaluate(t + 1);
      pass_warnings(last);
      if (!last) save(t + 1);
      notice_losses();
      if (!last) admit_others(t + 1);
    }
    checkpoints_.finish();
    if (job_.on_model && reports()) job_.on_model(*model_);
    report_.finished = true;
  }

 private:
  // What makes ranks wait for each other in vain, or train different models, where they differ.
  std::vector<Setting> settings() const {
    const TrainOptions& o = job_.options;
    std::vector<Setting> all = settings_of_run();
    // Each says so for its own disk; `--resume auto` finds nothing on an empty one.
    all.push_back({"a checkpoint to go on from", o.checkpoint.resume.empty() ? "not there" : "there"});
    return all;
  }
  std::vector<Setting> settings_of_run() const {
    const TrainOptions& o = job_.options;
    return {{"strategy", o.strategy},
            {"compress", o.compress},
            {"optimizer", o.optimizer},
            {"schedule", o.schedule},
            {"bucket", std::to_string(bucket() * sizeof(float)) + " bytes"},
            {"batch", std::to_string(o.batch)},
            {"shards", o.shards},
            {"lr", exact(o.lr)},
            {"seed", std::to_string(o.seed)},
            {"the number of steps", std::to_string(total_)},
            {"evaluate_every", std::to_string(o.evaluate_every)},
            {"target", o.target ? exact(*o.target) : ""},
            {"the number of parameters", std::to_string(model_->params().size())},
            {"the number of training samples", std::to_string(job_.data.train.size())},
            {"the number of test samples", std::to_string(job_.data.test.size())}};
  }

  // Returns the number of steps that are done.
  std::int64_t begin() {
    if (!me_.virtual_time()) agree(me_.control(), settings());  // simulated ranks are in one process
    if (!job_.options.compress.empty()) weigh_compression();
    checkpoints_.find();
    strategy_->start(worker_);
    const std::int64_t first = resume();
    me_.control().barrier();  // the clock starts when all have the weights
    return first;
  }
  // The same for a rank that was lost. It makes alone what the others made together, and takes from one of them where
  // they are.
  std::int64_t come_back() {
    strategy_->start(worker_);
    const std::vector<std::byte> lent = admissions_.ask();
    StateReader state(lent);
    Process::Place place;
    state.read("place", std::as_writable_bytes(std::span(&place, 1)));
    const std::int64_t first = checkpoints_.rejoin(state, report_);
    report_.rank = me_.rank();
    for (const Evaluated& each : report_.evaluations) plan_.record(each.step, each.accuracy);
    before_ = report_;
    before_.sent -= me_.comm().ledger().training();
    me_.enter(place);
    return first;
  }
  // Between two steps, and never for as long as a checkpoint is being written, in which ranks have parts of their own.
  void admit_others(std::int64_t steps_done) {
    if (checkpoints_.busy()) return;
    admissions_.look([&](const Process::Place& place, StateWriter& state) {
      state.write("place", std::as_bytes(std::span(&place, 1)));
      checkpoints_.lend(steps_done, report_, state);
    });
  }

  // What is done already, where the run goes on from a checkpoint; returns the number of steps.
  std::int64_t resume() {
    const std::int64_t first = checkpoints_.resume(report_, losses_);
    report_.rank = me_.rank();
    for (const Evaluated& each : report_.evaluations) plan_.record(each.step, each.accuracy);
    before_ = report_;
    if (first > 0)
      before_.sent -= me_.comm().ledger().training();  // by Strategy::start, which that run did too
    return first;
  }

  // Not part of what the run costs, but for the wait that a gradient would have hidden.
  void save(std::int64_t steps_done) {
    checkpoints_.look();
    if (!checkpoints_.due(steps_done)) return;
    settle();
    me_.pause();
    checkpoints_.save(steps_done, report_, losses_);
    me_.control().barrier();  // nobody leaves a pause before all have come
    me_.resume();
  }

  // In floats.
  std::size_t bucket() const {
    return bucket_floats("--bucket", job_.options.bucket, model_->params().size(),
                         job_.strategies.find(job_.options.strategy),
                         overlap_pays(*strategy_, job_.options.compress));
  }

  void step(std::int64_t t) {
    const Seconds start = clock_.now();
    const bool by_pieces = worker_.pieces() > 0;  // whose gradients the strategy asks for
    worker_.set_t(t - worker_.origin());
    if (!by_pieces) compute();
    double loss = worker_.loss();
    if (!by_pieces) require_finite(loss, "loss", t);
    const Seconds hidden = by_pieces ? Seconds(0) : compute_from_head_start(t, clock_.now() - start);
    exchange([&] { strategy_->step(worker_); });
    if (by_pieces) require_finite(loss = worker_.loss(), "loss", t);
    if (!report_.first_loss) report_.first_loss = loss;
    losses_.sum += loss;
    ++losses_.steps;
    ++report_.steps;
    count_time(start + hidden);
    count_traffic();
  }

  // Parts of the gradient leave as they become final. In virtual time nothing has passed by then: spend_compute() sees
  // to both.
  void compute() {
    readiness_.begin();
    const bool at_once = !me_.virtual_time();
    worker_.compute([&](Slice part) {
      if (at_once) readiness_.add(part);
    });
  }

  // Ends what is under way and an evaluation needs. That is training time; without the evaluation the next gradient
  // would have hidden it, so that it begins with this head start.
  void settle() {
    const double communicated = virtual_spent().communicate;
    const TimeAccount::Away before = times_.away();
    const Seconds start = clock_.now();
    exchange([&] { strategy_->settle(worker_); });
    const auto [exchanged, waited] = times_.away();
    head_start_ = {clock_.now() - start,
                   virtual_spent().communicate - communicated,
                   {exchanged - before.exchanged, waited - before.waited}};
    count_time(start);
  }
  template <class Call>
  void exchange(const Call& call) {
    const TimeAccount::Exchange going_on(times_);
    call();
  }
  // The gradient took so long, on machines where time passes by itself; simulated ones spend it here. Returns what of
  // the first was hidden behind the head start.
  Seconds compute_from_head_start(std::int64_t t, Seconds took) {
    const auto [waited, communicated, away] = std::exchange(head_start_, {});
    const Seconds hidden = std::min(waited, took);
    if (const double share = waited > Seconds(0) ? hidden / waited : 0; share > 0)
      times_.take_back({share * away.exchanged, share * away.waited});
    const double before = virtual_spent().compute;
    spend_compute(me_, t, readiness_, waited - hidden);
    readiness_.finish();
    // What was under way then was so while the gradient was computed: it counts once.
    const double alone = std::max(0.0, waited.count() - (virtual_spent().compute - before));
    counted_twice_ += std::max(0.0, communicated - alone);
    return hidden;
  }

  void count_time(Seconds since) {
    report_.seconds += (clock_.now() - since).count();
    report_.spent = times_.spent(Seconds(report_.seconds - before_.seconds));
    const TimeSpent before = before_.spent.value_or(TimeSpent{});
    report_.spent->compute += before.compute;
    report_.spent->communicate += before.communicate - counted_twice_;
  }
  TimeSpent virtual_spent() const { return me_.virtual_time_spent().value_or(TimeSpent{}); }

  // Compares a compressed mean with a plain one on this link. Not part of what the run costs: it is counted apart and
  // the clock stands still.
  void weigh_compression() {
    if (me_.size() == 1 || me_.virtual_time()) return;  // in virtual time, control messages take none
    const LinkTimes times =
        time_compression(me_.control(), clock_, Compression::parse(job_.options.compress), *model_);
    if (me_.rank() != 0 || times.compressed <= times.plain) return;
    job_.observer.on_warning("compressing costs more than it saves here: a mean takes " +
                             milliseconds(times.compressed) + " with the compressor " +
                             job_.options.compress + " and " + milliseconds(times.plain) +
                             " without; leave the compressor out on so fast a link");
  }

  // Of several ranks that notice one, the one that has been here longest says so, the lowest among equals.
  bool reports() { return me_.rank() == me_.control().head(); }
  // Its own loss too: a rank that waits for nobody learns here that the others have given it up.
  void notice_losses() {
    if (me_.control().survives()) (void)me_.control().living();
    for (std::size_t i = add_losses(me_.control(), report_); i < report_.lost.size(); ++i)
      if (reports()) job_.observer.on_loss(report_.lost[i]);
    for (const RankBack& each : add_returns(me_.control(), report_))
      if (reports()) job_.observer.on_return(each);
  }

  void pass_warnings(bool at_end) {
    for (const Dataset* each : {&job_.data.train, &job_.data.test})
      for (const std::string& what : each->samples->take_warnings(at_end)) job_.observer.on_warning(what);
  }

  void require_finite(double loss, const char* name, std::int64_t t) const {
    if (std::isfinite(loss)) return;
    throw Diverged(me_.rank(), t,
                   std::string("the ") + name + " is " + (std::isnan(loss) ? "not a number" : "infinite") +
                       "; lower the learning rate, warm it up, or look at the data");
  }

  void log(std::int64_t t) {
    report_.recent_loss = losses_.sum / static_cast<double>(losses_.steps);
    if (4 * (t + 1) > 3 * total_)
      report_.late_loss = std::min(*report_.recent_loss, report_.late_loss.value_or(*report_.recent_loss));
    job_.observer.on_steps(
        {me_.rank(), t + 1, *report_.recent_loss, static_cast<double>(worker_.lr()), report_.seconds});
    losses_ = {};
  }

  void finish() {
    const Seconds start = clock_.now();
    exchange([&] {
      strategy_->finish(worker_);
      worker_.average_buffers();
    });
    count_time(start);
    report_.weights_hash = hash_bytes(bytes_of(ConstFloatView(model_->params())));
    count_traffic();
  }

  void count_traffic() {
    report_.sent = before_.sent;
    report_.sent += me_.comm().ledger().training();
  }

  // Every rank scores its share of the test set; the clock stands still meanwhile.
  void evaluate(std::int64_t steps_done) {
    settle();
    me_.pause();
    const EvaluationPoint point(worker_, *strategy_);
    const Score score = score_share();
    std::array<float, 3> sums{static_cast<float>(score.loss), static_cast<float>(score.correct),
                              static_cast<float>(score.samples)};
    me_.control().sum(sums);
    const double epoch = static_cast<double>(steps_done) / static_cast<double>(sampler_.steps_per_epoch());
    report_.evaluation = Evaluated{steps_done, epoch, static_cast<double>(sums[0] / sums[2]),
                                   static_cast<double>(sums[1] / sums[2]), report_.seconds};
    report_.evaluations.push_back(*report_.evaluation);
    plan_.record(steps_done, report_.evaluation->accuracy);
    if (reports()) job_.observer.on_evaluation(*report_.evaluation);
    require_finite(report_.evaluation->loss, "test loss", steps_done - 1);
    me_.resume();
  }

  Score score_share() {
    const std::size_t all = job_.data.test.size();
    const auto ranks = static_cast<std::size_t>(me_.size());
    const auto rank = static_cast<std::size_t>(me_.rank());
    const std::size_t begin = all * rank / ranks;
    return score_samples(*model_, job_.data.test, {begin, all * (rank + 1) / ranks - begin}, batch_);
  }

  Process& me_;
  const TrainJob& job_;
  RankReport& report_;
  Clock& clock_;
  const std::unique_ptr<Model> model_;
  const std::unique_ptr<Optimizer> optimizer_;
  const std::unique_ptr<Schedule> schedule_;
  const std::unique_ptr<Strategy> strategy_;
  TimeAccount times_;
  Sampler sampler_;
  const std::int64_t total_;
  const std::unique_ptr<ShardSampler> shard_;
  FlatWorker worker_;
  Readiness readiness_;
  EvaluationPlan plan_;
  struct HeadStart {
    Seconds waited{0};
    double communicated = 0;   // in virtual time
    TimeAccount::Away away{};  // in real time
  };
  HeadStart head_start_;      // of the next gradient
  double counted_twice_ = 0;  // seconds, as communication and as computation
  Batch batch_;
  LossCount losses_;
  RunCheckpoints checkpoints_;
  Admissions admissions_;
  RankReport before_;  // of the run that this one goes on with
};

}  // namespace

std::int64_t total_steps(const TrainOptions& options, std::size_t samples, int ranks) {
  const Sampler sampler(samples, static_cast<std::size_t>(options.batch), ranks, options.seed);
  if (options.steps == 0 && options.epochs > kMostSteps / sampler.steps_per_epoch())
    throw InvalidConfig(std::to_string(options.epochs) + " epochs of " +
                        std::to_string(sampler.steps_per_epoch()) + " steps are more than the " +
                        std::to_string(kMostSteps) + " that a run can have; train for fewer epochs");
  return options.steps > 0 ? options.steps : options.epochs * sampler.steps_per_epoch();
}

void train_rank(Process& me, const TrainJob& job, RankReport& report) { RankTrainer(me, job, report).run(); }

}  // namespace tacit
