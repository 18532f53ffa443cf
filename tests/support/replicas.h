// SPDX-License-Identifier: MIT
// Replicas that a test moves by hand, for laws that hold between steps and for runs that are saved and resumed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/replica_worker.h"
#include "train/optimizer.h"

namespace tacit::test {

// What ranks do alike.
struct ReplicaCase {
  std::string strategy;
  int ranks = 4;
  std::int64_t steps = 20;
  std::string optimizer = "sgd";
  std::string compress = "";
  std::function<float(std::int64_t)> lr = [](std::int64_t) { return 0.1F; };
  std::size_t parameters = 150;
};

// A replica of a bumpy bowl whose bottom lies elsewhere on every rank.
class Replica final : public ReplicaWorker {
 public:
  Replica(Process& process, const ReplicaCase& how)
      : ReplicaWorker(process, 1),
        process_(process),
        how_(how),
        optimizer_(make_optimizer(how.optimizer)),
        params_(how.parameters),
        gradient_(how.parameters),
        tensors_{{0, how.parameters / 3}, {how.parameters / 3, how.parameters - how.parameters / 3}} {
    std::erase_if(tensors_, [](const Slice& tensor) { return tensor.count == 0; });
    set_compress(how.compress);
    Rng rng(9, process.rank(), 0, Rng::Use::kInit);  // start() must make them equal
    for (float& x : params_) x = rng.normal();
  }

  std::int64_t total() const override { return how_.steps; }
  using Worker::lr;
  float lr(std::int64_t t) const override { return how_.lr(t); }
  FloatView params() override { return params_; }
  FloatView gradient() override { return gradient_; }
  using Worker::apply;
  void apply(ConstFloatView g, FloatView x) override { optimizer_->step(g, lr(), x); }
  OptimizerState& optimizer() override { return *optimizer_; }
  std::unique_ptr<Optimizer> new_optimizer() const override { return optimizer_->fresh(); }
  std::span<const Slice> tensors() const override { return tensors_; }
  std::span<const FloatView> buffers() override { return {}; }

  // For tests that look at all ranks between steps.
  Comm& control() { return process_.control(); }

  // The gradient at params(), as it is on this rank at this step.
  void compute() { compute_of(rank()); }
  // The same as that rank would have it.
  void compute_of(int rank) {
    Rng noise(1, rank, t(), Rng::Use::kMinibatch);
    for (std::size_t i = 0; i < params_.size(); ++i) {
      const auto place = static_cast<float>(i % 7) - static_cast<float>(rank);
      gradient_[i] = 0.5F * (params_[i] - 0.2F * place) + 0.1F * noise.normal();
    }
  }

  void save(StateWriter& state) const {
    state.write("params", ConstFloatView(params_));
    optimizer_->save(state);
  }
  void load(StateReader& state) {
    state.read("params", FloatView(params_));
    optimizer_->load(state);
  }

 private:
  void compute_again(std::optional<std::int64_t> piece) override {
    compute_of(static_cast<int>(piece.value_or(rank())));
  }

  Process& process_;
  const ReplicaCase& how_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> params_;
  std::vector<float> gradient_;
  std::vector<Slice> tensors_;
};

using Body = std::function<void(Replica&, Strategy&)>;

// Runs the body on every rank, with a strategy that has started.
inline void with_replicas(const ReplicaCase& c, const Body& body) {
  World world = World::threads(c.ranks, {.limits = {Seconds(60), Seconds(20), nullptr}});
  world.run([&](Process& me) {
    Replica replica(me, c);
    const auto strategy = make_strategy(builtin_strategies(), c.strategy, c.ranks, c.compress);
    strategy->start(replica);
    body(replica, *strategy);
  });
}

inline void take_steps(Replica& replica, Strategy& strategy, std::int64_t from, std::int64_t to) {
  for (std::int64_t t = from; t < to; ++t) {
    replica.set_t(t);
    replica.compute();
    strategy.step(replica);
  }
}

using Weights = std::vector<std::vector<float>>;  // by rank

inline std::vector<float> weights_of(Replica& r) {
  return {r.params().host().begin(), r.params().host().end()};
}

inline std::vector<float> gradient_of(Replica& r) {
  return {r.gradient().host().begin(), r.gradient().host().end()};
}

// The weights of every rank after a whole run.
inline Weights run_replicas(const ReplicaCase& c) {
  Weights all(static_cast<std::size_t>(c.ranks));
  with_replicas(c, [&](Replica& replica, Strategy& strategy) {
    take_steps(replica, strategy, 0, c.steps);
    strategy.finish(replica);
    all[static_cast<std::size_t>(replica.rank())] = weights_of(replica);
  });
  return all;
}

// The same run in two halves: saved after `at` steps, and gone on with in another world.
inline Weights run_resumed(const ReplicaCase& c, std::int64_t at) {
  std::vector<StateWriter> saved(static_cast<std::size_t>(c.ranks));
  with_replicas(c, [&](Replica& replica, Strategy& strategy) {
    take_steps(replica, strategy, 0, at);
    StateWriter& state = saved[static_cast<std::size_t>(replica.rank())];
    replica.save(state);
    strategy.save(replica, state);
    take_steps(replica, strategy, at, at + 1);  // saving disturbs nobody
    strategy.finish(replica);
  });
  Weights all(saved.size());
  with_replicas(c, [&](Replica& replica, Strategy& strategy) {
    const auto rank = static_cast<std::size_t>(replica.rank());
    StateReader state(saved[rank].bytes());
    replica.load(state);
    strategy.load(replica, state);
    if (!state.at_end()) throw Bug("a part of the state was not read");
    take_steps(replica, strategy, at, c.steps);
    strategy.finish(replica);
    all[rank] = weights_of(replica);
  });
  return all;
}

}  // namespace tacit::test
