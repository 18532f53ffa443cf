// SPDX-License-Identifier: MIT
#include "faults/schedule.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>
#include <sstream>

#include "core/hash.h"
#include "sim/fault_draw.h"
#include "sim/verdict.h"
#include "support/plain_worker.h"
#include "support/read_to_end.h"
#include "tacit/core/error.h"
#include "tacit/strategies/builtin.h"
#include "tacit/world/world.h"

namespace tacit::test {
namespace {

constexpr std::int64_t kSteps = 40;
constexpr Seconds kStep{0.1};
// Longer than all that a schedule may hold up: every stop and every cut is over, or settled, before.
constexpr Seconds kLimit{30};

// Those that survive, with the options that change how they talk; and every strategy there is.
std::vector<std::string> strategies(bool survivors) {
  if (survivors)
    return {"gossip",         "gossip:mode=push", "gossip:mode=push,push_sum", "gossip:lag=2", "wagma",
            "wagma:period=3", "wagma:late=mean"};
  return builtin_strategies().names();
}

class Trainee {
 public:
  Trainee(Process& me, const FaultCase& schedule)
      : me_(me),
        worker_(me, std::vector<float>(schedule.parameters), 0.1F, schedule.seed),
        strategy_(make_strategy(builtin_strategies(), schedule.strategy, me.size())) {}

  // As the trainer does it.
  std::uint64_t run() {
    strategy_->start(worker_);
    me_.control().barrier();
    for (std::int64_t t = 0; t < kSteps; ++t) {
      step(t);
      if (t % 10 == 9 && t + 1 < kSteps) evaluate();
    }
    strategy_->finish(worker_);
    worker_.average_buffers();
    const std::uint64_t weights = hash_bytes(bytes_of(ConstFloatView(worker_.params())));
    evaluate();
    return weights;
  }

 private:
  void step(std::int64_t t) {
    worker_.set_t(t);
    Rng noise = worker_.rng(Rng::Use::kMinibatch);
    for (std::size_t i = 0; i < worker_.gradient().size(); ++i)
      worker_.gradient().host()[i] =
          worker_.params().host()[i] - static_cast<float>(me_.rank()) + 0.1F * noise.normal();
    me_.spend_compute(t);
    strategy_->step(worker_);
    if (me_.control().survives()) (void)me_.control().living();
  }
  void evaluate() {
    strategy_->settle(worker_);
    me_.pause();
    std::vector<float> model(worker_.params().size());
    strategy_->model(worker_, model);
    std::array<float, 2> sums{model[0], 1};
    me_.control().sum(sums);
    me_.resume();
  }

  Process& me_;
  PlainWorker worker_;
  const std::unique_ptr<Strategy> strategy_;
};

}  // namespace

FaultCase draw_schedule(std::uint64_t seed) {
  Rng rng(seed, Rng::kEveryRank, 1, Rng::Use::kFault);
  FaultCase s;
  s.seed = seed;
  s.cluster.workers = 2 + static_cast<int>(rng.below(7));
  s.cluster.link = {125e6, Seconds(50e-6)};
  s.cluster.step = kStep;
  s.cluster.jitter = 0.3;
  const auto names = strategies(rng.below(10) < 7);
  s.strategy = names[static_cast<std::size_t>(rng.below(names.size()))];
  s.survives = builtin_strategies().find(s.strategy).survives;
  s.parameters = rng.below(4) == 0 ? 20'000 : 50;  // messages whose senders wait, or do not
  const auto faults = static_cast<double>(1 + rng.below(5));
  const Seconds span = kStep * static_cast<double>(kSteps) * 1.2;
  draw_faults({seed, faults * 60 / span.count() / s.cluster.workers, span}, kLostAfter, s.cluster);
  if (seed % 5 == 4) slow_down_words(seed, s);
  return s;
}

FaultCase draw_server_schedule(std::uint64_t seed) {
  constexpr std::array kStrategies{"asgd", "easgd", "asgd:servers=1", "easgd:period=25", "asgd:servers=2"};
  FaultCase schedule = draw_schedule(seed);
  schedule.strategy = kStrategies[static_cast<std::size_t>(seed % kStrategies.size())];
  schedule.survives = builtin_strategies().find(schedule.strategy).survives;
  return schedule;
}

void slow_down_words(std::uint64_t seed, FaultCase& schedule) {
  Rng rng(seed, 5, 1, Rng::Use::kFault);
  Cluster& cluster = schedule.cluster;
  for (int from = 0; from < cluster.workers; ++from)
    for (int to = 0; to < cluster.workers; ++to)
      for (int i = 0; i < 3 && from != to; ++i) {
        const Seconds delay = Seconds(0.001) + kLostAfter / 4 * static_cast<double>(rng.uniform());
        cluster.late.push_back({{from}, {to}, Seconds(0), kNever, 0.5, delay, /*words=*/true});
      }
}

std::string describe(const FaultCase& s) {
  return "seed " + std::to_string(s.seed) + ": " + std::to_string(s.cluster.workers) + " ranks, " +
         s.strategy + ", " + std::to_string(s.parameters) +
         " parameters; faults: " + describe_faults(s.cluster);
}

ScheduleOutcome run_schedule(const FaultCase& schedule) {
  ScheduleOutcome outcome;
  WorldOptions options;
  options.limits = {kLimit, kNever, [](const std::string&) {}};
  options.survive = schedule.survives;
  options.lost_after = kLostAfter;
  std::vector<std::optional<std::uint64_t>> weights(static_cast<std::size_t>(schedule.cluster.workers));
  World world = World::simulated(schedule.cluster, schedule.seed, options);
  try {
    world.run([&](Process& me) {
      Trainee trainee(me, schedule);
      weights[static_cast<std::size_t>(me.rank())] = trainee.run();
    });
  } catch (const PeerLost&) {  // the world has looked at the names
  } catch (const std::exception& error) {
    outcome.violations.emplace_back(error.what());
  }
  for (std::string& each : unequal_weights(weights)) outcome.violations.push_back(std::move(each));
  for (const auto& each : weights) outcome.finished += each ? 1 : 0;
  outcome.trace_hash = world.trace_hash();
  return outcome;
}

ScheduleOutcome run_in_child(const FaultCase& schedule, unsigned limit) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw Error("cannot make a pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error("cannot fork");
  if (child == 0) {
    close(ends[0]);
    alarm(limit);
    const ScheduleOutcome outcome = run_schedule(schedule);
    std::string text = outcome.trace_hash + "\n" + std::to_string(outcome.finished) + "\n";
    for (const std::string& each : outcome.violations) text += each + "\n";
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  const std::string text = read_to_end(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ScheduleOutcome outcome;
  std::istringstream lines(text);
  std::getline(lines, outcome.trace_hash);
  std::string line;
  std::getline(lines, line);
  outcome.finished = line.empty() ? 0 : std::stoi(line);
  while (std::getline(lines, line)) outcome.violations.push_back(line);
  if (status != 0)
    outcome.violations.push_back(WIFSIGNALED(status)
                                     ? "ended by signal " + std::to_string(WTERMSIG(status))
                                     : "ended with status " + std::to_string(WEXITSTATUS(status)));
  return outcome;
}

}  // namespace tacit::test
