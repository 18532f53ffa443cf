// SPDX-License-Identifier: MIT
// Laws of gradients that leave in buckets, for the strategies that let them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/few_numbers.h"
#include "support/refusal.h"
#include "support/replicas.h"
#include "support/strategy_worlds.h"
#include "support/told_numbers.h"
#include "support/train.h"

namespace tacit::test {
namespace {

constexpr const char* kOverlapping[] = {"ssgd", "ssgd:servers=2",  "ssd:warmup=9", "ssd:warmup=0,delay=2",
                                        "asgd", "eager:mode=solo", "eager:limit=1"};

// 616 parameters in buckets of 16 to 160, of which the last tensors have several and the first is cut.
constexpr const char* kBuckets[] = {"64", "640"};

// --- in real and virtual time, with threads and sockets

void expect_everywhere(const TrainCase& c, const std::vector<float>& params) {
  for (const StrategyWorld& each : strategy_worlds())
    if (each.built())
      each.open(c.ranks, Pace::kUneven, [&](const OpenWorld& world) {
        EXPECT_EQ(train_by(world.run, c).params[0], params)
            << c.strategy << " " << c.compress << ", " << each.name << ", " << c.bucket;
        return "";
      });
}

TEST(Overlap, OfSsdHasTheBitsOfTheWholeInEveryWorld) {
  for (const char* optimizer : {"sgd:momentum=0.9", "adam"}) {
    TrainCase c{.strategy = "ssd:warmup=6,delay=3,servers=3", .ranks = 4, .optimizer = optimizer, .lr = 0.01};
    c.bucket = "whole";
    const std::vector<float> whole = train(c).params[0];
    for (const char* bucket : kBuckets) {
      c.bucket = bucket;
      EXPECT_EQ(train(c).params[0], whole) << optimizer << ", " << bucket;
    }
    if (std::string(optimizer) == "adam") expect_everywhere(c, whole);
  }
}

// A compressor that sees a tensor sees less of one that is cut; one that sees all of a shard is not cut.
TEST(Overlap, OfSsdThatCompressesHasTheSameBitsInEveryWorld) {
  TrainCase c{.strategy = "ssd:warmup=6,delay=3", .ranks = 3, .global_batch = 30};
  for (const char* form : {"qsgd:min=0", "topk:ratio=0.1,ef,min=0,per=bucket"}) {
    c.compress = form;
    c.bucket = "200";
    expect_everywhere(c, train(c).params[0]);
  }
  c.compress = "topk:ratio=0.1,ef,min=0";
  const std::vector<float> cut = train(c).params[0];
  c.bucket = "whole";
  EXPECT_EQ(train(c).params[0], cut);
}

TEST(Overlap, OfEagerThatWaitsForAllIsThatOfSynchronousSgdToTheBit) {
  for (const char* bucket : kBuckets) {
    TrainCase c{.strategy = "ssgd", .ranks = 4, .optimizer = "adamw", .lr = 0.001};
    c.bucket = bucket;
    const std::vector<float> ssgd = train(c).params[0];
    c.strategy = "eager:limit=1";
    expect_everywhere(c, ssgd);
  }
}

TEST(Overlap, OfOneRankAloneIsItsOptimiser) {
  for (const char* optimizer : {"sgd:momentum=0.9,nesterov", "adamw"}) {
    TrainCase c{.strategy = "ssgd", .ranks = 1, .optimizer = optimizer, .lr = 0.001};
    c.bucket = "whole";
    const std::vector<float> alone = train(c).params[0];
    c.bucket = "200";
    for (const char* strategy : {"ssgd", "ssd:warmup=100", "asgd", "eager", "eager:mode=solo"}) {
      c.strategy = strategy;
      EXPECT_EQ(train(c).params[0], alone) << strategy << ", " << optimizer;
    }
  }
}

TEST(Overlap, EndsWithALossThatIsNotFiniteAndPartsUnderWay) {
  for (const char* strategy : kOverlapping) {
    TrainCase c{.strategy = strategy, .ranks = 3, .global_batch = 30, .lr = 1e30};
    c.bucket = "64";
    EXPECT_THROW(train(c), Diverged) << strategy;
  }
}

TEST(Overlap, IsOnlyOfStrategiesThatSaySo) {
  for (const StrategyInfo& info : builtin_strategies().all()) {
    TrainCase c{.strategy = info.name, .ranks = 2, .steps = 2};
    c.bucket = "64";
    if (info.overlaps) continue;
    const std::string said = refusal([&] { train(c); });
    EXPECT_TRUE(said.starts_with("--bucket 64 with the strategy " + info.name)) << said;
    for (const char* bucket : {"auto", "whole"}) {  // which ask for nothing
      c.bucket = bucket;
      train(c);
    }
  }
}

// --- step by step

// 1600 parameters in three buckets, and how a run that is told of them goes.
const std::vector<Slice> kThree{{1184, 416}, {416, 768}, {0, 416}};

void with_buckets(const ReplicaCase& c, const Body& body) {
  World world = World::threads(c.ranks, {.limits = {Seconds(60), Seconds(20), nullptr}});
  world.run([&](Process& me) {
    Replica replica(me, c);
    replica.set_buckets(kThree);
    const auto strategy = make_strategy(builtin_strategies(), c.strategy, c.ranks, c.compress);
    strategy->start(replica);
    body(replica, *strategy);
  });
}

// Of some of the gradients nothing leaves early.
void take_told_steps(Replica& r, Strategy& s, std::int64_t from, std::int64_t to) {
  for (std::int64_t t = from; t < to; ++t) {
    r.set_t(t);
    r.compute();
    for (const Slice& each : kThree)
      if (t % 4 != 1) s.ready(r, each);
    s.step(r);
  }
}

TEST(Overlap, OfSsdIsResumedBitForBit) {
  for (const char* compress : {"", "onebit:ef,momentum=0.9,min=0"}) {
    ReplicaCase c{.strategy = "ssd:warmup=4,delay=3,servers=2", .ranks = 3, .steps = 13};
    c.compress = compress;
    c.parameters = 1600;
    c.lr = [](std::int64_t t) { return t < 8 ? 0.1F : 0.02F; };
    std::vector<float> undisturbed = run_replicas(c)[0];
    if (*compress != 0)  // it sees less of a tensor that is cut
      with_buckets(c, [&](Replica& r, Strategy& s) {
        take_told_steps(r, s, 0, c.steps);
        s.finish(r);
        if (r.rank() == 0) undisturbed = weights_of(r);
      });
    for (const std::int64_t at : {0, 2, 6, 10}) {
      std::vector<StateWriter> saved(3);
      with_buckets(c, [&](Replica& r, Strategy& s) {
        take_told_steps(r, s, 0, at);
        StateWriter& state = saved[static_cast<std::size_t>(r.rank())];
        r.save(state);
        s.save(r, state);
        take_told_steps(r, s, at, at + 1);  // saving disturbs nobody
        s.finish(r);
      });
      with_buckets(c, [&](Replica& r, Strategy& s) {
        StateReader state(saved[static_cast<std::size_t>(r.rank())].bytes());
        r.load(state);
        s.load(r, state);
        EXPECT_TRUE(state.at_end());
        take_told_steps(r, s, at, c.steps);
        s.finish(r);
        EXPECT_EQ(weights_of(r), undisturbed) << "saved after " << at << ", " << compress;
      });
    }
  }
}

// Half of everything goes to the other rank's shards: with a header for each bucket, and otherwise the bytes of the whole.
TEST(Overlap, SendsTheBytesOfTheWholeAndAHeaderForEachBucket) {
  constexpr std::size_t kHalf = 800 * sizeof(float);
  constexpr std::size_t kHeaders = 3 * 32;
  const auto sent_by = [](const char* strategy) {
    const ReplicaCase c{.strategy = strategy, .ranks = 2, .parameters = 1600};
    std::uint64_t bytes = 0;
    with_buckets(c, [&](Replica& r, Strategy& s) {
      const auto sent = [&] { return r.comm().ledger().training().payload; };
      const std::uint64_t before = sent();
      r.comm().barrier();  // nobody asks this rank's shards before it has looked
      take_told_steps(r, s, 0, 20);
      s.finish(r);
      if (r.rank() == 0) bytes = sent() - before;
    });
    return bytes;
  };
  // At the end everyone gets the other's shards once more.
  EXPECT_EQ(sent_by("ssd:warmup=100"), 20 * (2 * kHeaders + 2 * kHalf) + kHalf);
  EXPECT_EQ(sent_by("ssd:warmup=0,delay=5"), 20 * (kHeaders + kHalf) + 4 * (kHeaders + kHalf) + kHalf);
  EXPECT_EQ(sent_by("asgd"), 20 * (kHeaders + 2 * kHalf) + kHalf);
}

// Gradients that do not depend on the weights: the order in which they come does not matter then.
TEST(Overlap, OfAsgdAppliesEveryPartOfEveryGradientOnce) {
  const ReplicaCase c{.strategy = "asgd:share=0.5,servers=3", .ranks = 4, .steps = 9, .parameters = 1600};
  with_buckets(c, [&](Replica& r, Strategy& s) {
    std::vector<float> expected = weights_of(r);
    for (std::int64_t t = 0; t < c.steps; ++t) {
      r.set_t(t);
      for (std::size_t i = 0; i < c.parameters; ++i)
        r.gradient().host()[i] = static_cast<float>(r.rank() + 1) * static_cast<float>(i % 5) / 8;
      for (const Slice& each : kThree) s.ready(r, each);
      s.step(r);
    }
    s.finish(r);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(weights_of(r)[i], expected[i] - 0.05F * 9 * 10 * static_cast<float>(i % 5) / 8, 2e-4F) << i;
  });
}

// --- in virtual time, where the gradient's time is spent bucket by bucket

// One rank that is always slow, one that is a little, and all of them at random.
Cluster ragged(int ranks) {
  Cluster cluster = cluster_of(ranks);
  cluster.jitter = 0.5;
  cluster.stragglers.push_back({.ranks = {ranks - 1}, .factor = 4});
  cluster.stragglers.push_back({.ranks = {0}, .factor = 2.5});
  return cluster;
}

constexpr std::size_t kFew = 64;  // in four buckets of 16

TEST(Overlap, OfEagerAppliesAllThatWasGivenOnceHoweverLate) {
  NEEDS_SIMULATOR;
  for (const char* mode : {"solo", "majority"})
    for (const int ranks : {2, 5, 8})
      simulate(ragged(ranks), [&](Process& me) {
        ToldNumbers r(me, std::string("eager:limit=8,mode=") + mode, kFew, 16);
        Floats given(kFew);
        for (std::int64_t t = 0; t < 21; ++t) {
          Rng rng(1, me.rank(), t, Rng::Use::kMinibatch);
          for (float& g : r.worker.gradient().host()) g = rng.normal();
          kernels::add(r.worker.gradient(), given);
          r.step(t);
          if ((t + 1) % 8 != 0 && t != 20) continue;
          if (t == 20) r.strategy->finish(r.worker);  // not after a blocking round: some is left
          me.control().sum(given);
          for (std::size_t i = 0; i < kFew; ++i)
            ASSERT_NEAR(r.worker.params().host()[i], -given[i] / static_cast<float>(ranks), 4e-5)
                << mode << ", step " << t << ", number " << i;
          if (me.rank() != 0) kernels::fill(0, given);
        }
      });
}

// A gradient has the same value everywhere, and another one on every rank and at every step: means of which some buckets
// had it and others had not would be seen.
TEST(Overlap, OfEagerHasARanksGradientInARoundWholeOrNotAtAll) {
  NEEDS_SIMULATOR;
  for (const char* mode : {"solo", "majority"})
    simulate(ragged(5), [&](Process& me) {
      ToldNumbers r(me, std::string("eager:limit=1000000,mode=") + mode, kFew, 16);
      for (std::int64_t t = 0; t < 30; ++t) {
        Rng rng(1, me.rank(), t, Rng::Use::kMinibatch);
        kernels::fill(rng.normal(), r.worker.gradient());
        r.step(t);
        const auto x = r.worker.params().host();
        ASSERT_TRUE(std::all_of(x.begin(), x.end(), [&](float each) { return each == x[0]; }))
            << mode << ", step " << t;
      }
      r.strategy->finish(r.worker);
    });
}

TEST(Overlap, OfEagerWhereNobodyIsLateIsThatOfSynchronousSgdToTheBit) {
  NEEDS_SIMULATOR;
  const auto end = [](int ranks, const std::string& spec) {
    return from_child([&] {
      std::string bits;
      World world = World::simulated(cluster_of(ranks), 1, without_limits());
      world.run([&](Process& me) {
        ToldNumbers r(me, spec, kFew, 16);
        for (std::int64_t t = 0; t < 12; ++t) {
          Clock& clock = me.tasks().clock();
          clock.sleep(Seconds(0.1 * static_cast<double>(t + 1)) - clock.now());
          Rng rng(1, me.rank(), t, Rng::Use::kMinibatch);
          for (float& g : r.worker.gradient().host()) g = rng.normal();
          r.step(t);
        }
        r.strategy->finish(r.worker);
        const ConstBytes bytes = bytes_of(r.worker.params());
        if (me.rank() == 0) bits.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      });
      return bits;
    });
  };
  for (const int ranks : {2, 5}) {
    const std::string ssgd = end(ranks, "ssgd");
    ASSERT_EQ(ssgd.size(), kFew * sizeof(float));
    for (const char* mode : {"solo", "majority"})
      EXPECT_EQ(end(ranks, std::string("eager:limit=7,mode=") + mode), ssgd) << mode << ", " << ranks;
  }
}

TEST(Overlap, OfEagerWaitsForNoStraggler) {
  NEEDS_SIMULATOR;
  constexpr int kRanks = 7;
  Cluster cluster = cluster_of(kRanks);
  cluster.stragglers.push_back({.ranks = {kRanks - 1}, .factor = 5});
  simulate(cluster, [&](Process& me) {
    ToldNumbers r(me, "eager:mode=solo,limit=10", kFew, 16);
    me.control().barrier();
    const Seconds start = me.tasks().clock().now();
    for (std::int64_t t = 0; t < 9; ++t) r.step(t);
    // 9 gradients of 10 ms, and per round the news and a few messages of 100 us for each bucket.
    if (me.rank() != kRanks - 1) {
      EXPECT_LT((me.tasks().clock().now() - start).count(), 9 * (0.01 + 0.002));
    }
    r.step(9);
    r.strategy->finish(r.worker);
  });
}

// Exchanges of buckets are under way, beside the trainer, whenever a rank with a shard of each crashes.
TEST(Overlap, OfAsgdGoesOnWheneverARankCrashes) {
  NEEDS_SIMULATOR;
  WorldOptions options = without_limits();
  options.survive = true;
  for (const char* spec : {"asgd", "asgd:servers=1"})
    for (const int victim : {0, 2})
      for (int moment = 0; moment < 20; ++moment) {
        Cluster cluster = cluster_of(4);
        cluster.jitter = 0.3;
        cluster.crashes.push_back({victim, Seconds(0.0201 + 0.0013 * moment)});
        std::vector<Floats> ends(4);
        simulate(
            cluster,
            [&](Process& me) {
              ToldNumbers r(me, spec, kFew, 16);
              for (std::int64_t t = 0; t < 6; ++t) {
                kernels::fill(-1, r.worker.gradient());
                r.step(t);
              }
              r.strategy->finish(r.worker);
              ends[static_cast<std::size_t>(me.rank())] = {r.worker.params().host().begin(),
                                                           r.worker.params().host().end()};
            },
            [&](World&) {
              for (const int rank : {0, 1, 2, 3}) {
                if (rank == victim) continue;
                const Floats& end = ends[static_cast<std::size_t>(rank)];
                EXPECT_EQ(end, ends[1]) << spec << ", rank " << rank << ", moment " << moment;
                // Three ranks' six gradients with a quarter each, at least from the crash on, and at most all of them.
                for (const float x : end) ASSERT_TRUE(x >= 3 * 2 * 0.25F && x <= 6.5F) << x;
              }
            },
            options);
      }
}

// Virtual seconds of ten steps of two ranks whose gradients have a megabyte: they take 10 ms to compute and 8 to send.
double ten_steps(const std::string& spec, std::size_t bucket) {
  return std::stod(from_child([&] {
    double longest = 0;
    World world = World::simulated(cluster_of(2), 1, without_limits());
    world.run([&](Process& me) {
      ToldNumbers r(me, spec, 250'000, bucket);
      me.control().barrier();
      const Seconds start = me.tasks().clock().now();
      for (std::int64_t t = 0; t < 10; ++t) r.step(t);
      r.strategy->settle(r.worker);
      longest = std::max(longest, (me.tasks().clock().now() - start).count());
      r.strategy->finish(r.worker);
    });
    return std::to_string(longest);
  }));
}

TEST(Overlap, HidesExchangesBehindTheGradientTheyBelongTo) {
  NEEDS_SIMULATOR;
  for (const char* strategy : kOverlapping) {
    const double whole = ten_steps(strategy, 250'000);
    const double cut = ten_steps(strategy, 31'250);
    EXPECT_GE(cut, 0.1) << strategy;
    // ssd hides its pushes behind the next gradient anyway: what is left is the last of them.
    const bool hidden = std::string(strategy).starts_with("ssd:warmup=0");
    EXPECT_LT(cut, hidden ? whole : 0.85 * whole) << strategy << ": " << whole;
  }
}

}  // namespace
}  // namespace tacit::test
