// SPDX-License-Identifier: MIT
// Replicas of a few numbers in virtual time, for laws of strategies that do not wait.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/plain_worker.h"
#include "support/simulate.h"
#include "tacit/core/kernels.h"
#include "tacit/core/state.h"
#include "tacit/strategies/builtin.h"

namespace tacit::test {

using Floats = std::vector<float>;

// Rank i starts from value i + 1: the first gradient moves it there from the common start, later ones are zero.
class FewNumbers {
 public:
  FewNumbers(Process& me, const std::string& spec, std::size_t count = 3)
      : me_(me), worker(me, Floats(count)), strategy(make_strategy(builtin_strategies(), spec, me.size())) {
    strategy->start(worker);
    gradient(-static_cast<float>(me.rank() + 1));
  }
  void gradient(float all) { kernels::fill(all, worker.gradient()); }
  void step(std::int64_t t) {
    worker.set_t(t);
    me_.spend_compute(t);
    strategy->step(worker);
    gradient(0);
  }
  float x() { return worker.params().host()[1]; }
  float mean() {
    Floats out(worker.params().size());
    strategy->model(worker, out);
    return out[1];
  }

 private:
  Process& me_;

 public:
  PlainWorker worker;
  std::unique_ptr<Strategy> strategy;
};

// A flat network whose workers compute 10 ms per step.
inline Cluster cluster_of(int workers) {
  Cluster cluster = flat(workers);
  cluster.step = Seconds(0.01);
  return cluster;
}

#define NEEDS_SIMULATOR \
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator"

// By all ranks, for training: over the network, without the start's broadcast.
inline std::uint64_t payload_sent(int ranks, const std::string& spec, std::int64_t steps, std::size_t count,
                                  bool survive = false) {
  const std::string text = from_child([&] {
    std::uint64_t bytes = 0;
    WorldOptions options = without_limits();
    options.survive = survive;
    World world = World::simulated(cluster_of(ranks), 1, options);
    world.run([&](Process& me) {
      FewNumbers r(me, spec, count);
      const auto sent = [&] { return me.comm().ledger().training().payload; };
      const auto before = sent();
      for (std::int64_t t = 0; t < steps; ++t) r.step(t);
      me.tasks().clock().sleep(Seconds(1));  // what is under way arrives
      bytes += sent() - before;
      me.control().barrier();
      r.strategy->finish(r.worker);
    });
    return std::to_string(bytes);
  });
  return std::stoull(text);
}

// A run that is resumed in its middle ends with the bits of one that was not.
inline void expect_resume(const Cluster& cluster, const std::string& spec) {
  simulate(cluster, [&](Process& me) {
    const auto run = [&](FewNumbers& r, std::int64_t from, std::int64_t to) {
      for (std::int64_t t = from; t < to; ++t) {
        Rng rng(1, me.rank(), t, Rng::Use::kMinibatch);
        for (float& g : r.worker.gradient().host()) g = rng.normal();
        r.step(t);
      }
    };
    FewNumbers whole(me, spec);
    run(whole, 0, 4);
    StateWriter state;
    whole.strategy->save(whole.worker, state);
    const Floats params(whole.worker.params().host().begin(), whole.worker.params().host().end());
    me.control().barrier();  // both second halves begin with all ranks together
    run(whole, 4, 9);
    whole.strategy->finish(whole.worker);

    FewNumbers resumed(me, spec);
    copy(params, resumed.worker.params());
    StateReader reader(state.bytes());
    resumed.strategy->load(resumed.worker, reader);
    EXPECT_TRUE(reader.at_end());
    me.control().barrier();
    run(resumed, 4, 9);
    resumed.strategy->finish(resumed.worker);
    for (std::size_t i = 0; i < params.size(); ++i)
      EXPECT_EQ(resumed.worker.params().host()[i], whole.worker.params().host()[i]) << spec;
  });
}

}  // namespace tacit::test
