// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/refusal.h"
#include "support/replicas.h"
#include "support/train.h"
#include "tacit/core/kernels.h"

namespace tacit::test {
namespace {

std::vector<float> mean_of(const Weights& all) {
  std::vector<float> mean(all[0].size());
  for (const auto& each : all) kernels::axpy(1.0F / static_cast<float>(all.size()), each, mean);
  return mean;
}

TEST(DcS3gd, WithOneRankIsTheInnerOptimiser) {
  for (const char* optimizer : {"sgd", "sgd:momentum=0.9,nesterov,weight_decay=0.01", "adamw"}) {
    const Trained one =
        train({.strategy = "dc_s3gd:lambda=5", .ranks = 1, .optimizer = optimizer, .lr = 0.01});
    const Trained plain = train({.strategy = "ssgd", .ranks = 1, .optimizer = optimizer, .lr = 0.01});
    expect_near(one.params[0], plain.params[0], 2e-6F);
  }
}

// Every rank is at (mean of all) + (own last update), and the mean of all moves by the mean of the updates.
TEST(DcS3gd, TheMeanOfTheReplicasMovesByTheMeanOfTheUpdates) {
  for (const char* strategy :
       {"dc_s3gd", "dc_s3gd:lambda=0", "dc_s3gd:per=tensor,resync=3", "dc_s3gd:resync=1"})
    for (const int ranks : {2, 3}) {
      const ReplicaCase c{.strategy = strategy, .ranks = ranks, .steps = 12, .optimizer = "sgd:momentum=0.9"};
      std::vector<Weights> at(13, Weights(static_cast<std::size_t>(ranks)));
      std::vector<Weights> model = at;
      with_replicas(c, [&](Replica& replica, Strategy& s) {
        const auto rank = static_cast<std::size_t>(replica.rank());
        for (std::int64_t t = 0; t <= c.steps; ++t) {
          const auto now = static_cast<std::size_t>(t);
          at[now][rank] = weights_of(replica);
          model[now][rank].resize(c.parameters);
          s.model(replica, model[now][rank]);
          if (t < c.steps) take_steps(replica, s, t, t + 1);
        }
        s.finish(replica);
        EXPECT_EQ(weights_of(replica), model.back()[rank]);
      });
      for (std::size_t t = 0; t + 1 < at.size(); ++t) {
        const std::vector<float> before = mean_of(at[t]);
        std::vector<float> after = before;
        for (const auto& each : at[t + 1])  // + 1/P sum of dw_i = w_i - (the mean before)
          for (std::size_t i = 0; i < after.size(); ++i)
            after[i] += (each[i] - before[i]) / static_cast<float>(ranks);
        expect_near(model[t + 1][0], after, 2e-6F);
        for (const auto& each : model[t + 1])
          EXPECT_EQ(each, model[t + 1][0]) << "ranks disagree about the mean";
      }
    }
}

// What the loop below and the strategy's options say alike.
struct Loop {
  double lambda;
  bool per_tensor;
  double momentum;
  double weight_decay;
};

// The paper's loop as it is printed, in which every rank moves its own w by D + dw and nothing overlaps. U is SGD with
// a momentum of the rank's own; it decays the weights it starts from, those of the mean model.
Weights by_the_paper(const ReplicaCase& c, const Loop& how) {
  Weights all(static_cast<std::size_t>(c.ranks));
  with_replicas(c, [&](Replica& r, Strategy&) {
    std::vector<float> dw(c.parameters);
    std::vector<float> distance(c.parameters);
    std::vector<double> velocity(c.parameters);
    const auto learn_distance = [&] {
      copy(dw, distance);
      r.comm().mean(distance);
      kernels::subtract(dw, distance);
    };
    const auto move = [&](Slice part) {
      double g_norm = 0;
      double move_norm = 0;
      for (std::size_t i = part.offset; i < part.offset + part.count; ++i) {
        const auto g = static_cast<double>(r.gradient().host()[i]);
        const double away = g * g * static_cast<double>(distance[i]);
        g_norm += g * g;
        move_norm += away * away;
      }
      const double lam = move_norm > 0 ? how.lambda * std::sqrt(g_norm / move_norm) : 0;
      for (std::size_t i = part.offset; i < part.offset + part.count; ++i) {
        const auto g = static_cast<double>(r.gradient().host()[i]);
        const auto away = static_cast<double>(distance[i]);
        const double mean = static_cast<double>(r.params().host()[i]) + away;
        velocity[i] = how.momentum * velocity[i] + g + lam * g * g * away + how.weight_decay * mean;
        dw[i] = static_cast<float>(-static_cast<double>(r.lr()) * velocity[i]);
        r.params().host()[i] += distance[i] + dw[i];
      }
    };
    for (std::int64_t t = 0; t < c.steps; ++t) {
      r.set_t(t);
      r.compute();
      learn_distance();
      if (!how.per_tensor) move({0, c.parameters});
      for (const Slice& tensor : r.tensors())
        if (how.per_tensor) move(tensor);
    }
    learn_distance();
    kernels::add(distance, r.params());
    all[static_cast<std::size_t>(r.rank())] = weights_of(r);
  });
  return all;
}

TEST(DcS3gd, IsThePapersLoop) {
  for (const bool per_tensor : {false, true})
    for (const double lambda : {0.0, 0.2, 1.5})
      for (const double momentum : {0.0, 0.8})
        for (const char* resync : {"", ",resync=0", ",resync=3"}) {
          const Loop how{lambda, per_tensor, momentum, 0.05};
          ReplicaCase c{.strategy = "dc_s3gd:lambda=" + std::to_string(lambda) +
                                    (per_tensor ? ",per=tensor" : "") + resync,
                        .ranks = 3,
                        .optimizer = "sgd:weight_decay=0.05,momentum=" + std::to_string(momentum)};
          c.lr = [](std::int64_t t) { return t < 9 ? 0.1F : t < 15 ? 0.03F : 0.06F; };
          const Weights ours = run_replicas(c);
          const Weights paper = by_the_paper(c, how);
          for (std::size_t r = 0; r < ours.size(); ++r) expect_near(ours[r], paper[r], 2e-5F);
          if (HasFailure()) FAIL() << c.strategy << " with " << c.optimizer;
        }
}

// lambda_i is 0/0 where a rank has a distance and no gradient.
TEST(DcS3gd, ARankWithoutAGradientIsNotCorrected) {
  for (const char* strategy : {"dc_s3gd", "dc_s3gd:per=tensor"})
    with_replicas({.strategy = strategy, .ranks = 2}, [&](Replica& r, Strategy& s) {
      take_steps(r, s, 0, 1);
      r.set_t(1);
      r.compute();
      if (r.rank() == 0) kernels::fill(0.0F, r.gradient());
      s.step(r);
      s.finish(r);
      for (const float x : r.params().host()) ASSERT_TRUE(std::isfinite(x)) << strategy;
    });
}

TEST(DcS3gd, TheCorrectionHasTheShareOfTheGradientThatLambdaSays) {
  // One step apart, then one more: with plain SGD, what lambda changes in that step is lr lambda |g| long.
  const ReplicaCase plain{.strategy = "dc_s3gd:lambda=0", .ranks = 2, .steps = 2};
  ReplicaCase corrected = plain;
  corrected.strategy = "dc_s3gd:lambda=0.3";
  Weights a(2);
  Weights b(2);
  std::vector<double> norm(2);
  const auto keep = [&](Weights& into) {
    return [&](Replica& replica, Strategy& s) {
      const auto rank = static_cast<std::size_t>(replica.rank());
      take_steps(replica, s, 0, 1);
      replica.set_t(1);
      replica.compute();
      norm[rank] = kernels::norm2(replica.gradient());
      s.step(replica);
      into[rank] = weights_of(replica);
      s.finish(replica);
    };
  };
  with_replicas(plain, keep(a));
  with_replicas(corrected, keep(b));
  for (std::size_t r = 0; r < 2; ++r)
    EXPECT_NEAR(kernels::distance2(a[r], b[r]), 0.1 * 0.3 * norm[r], 1e-5) << "rank " << r;
}

TEST(DcS3gd, SendsOneAllReduceOfTheUpdatesPerStepInTheBackground) {
  for (const char* strategy : {"dc_s3gd", "dc_s3gd:resync=2"}) {
    const Trained t = train({.strategy = strategy, .ranks = 2, .steps = 10});
    const std::size_t model = t.params[0].size() * sizeof(float);
    EXPECT_EQ(t.summary.bytes_payload, (10 * 2 + 1) * model) << strategy;  // and once rank 0's weights
  }
  with_replicas({.strategy = "dc_s3gd", .ranks = 2}, [](Replica& replica, Strategy& s) {
    const std::uint64_t started = replica.comm().ledger().sent(Tag::Lane::kTrain).payload;
    take_steps(replica, s, 0, 5);
    s.finish(replica);
    EXPECT_EQ(replica.comm().ledger().sent(Tag::Lane::kTrain).payload, started);
    EXPECT_EQ(replica.comm().ledger().sent(Tag::Lane::kBackground).payload, 5 * 150 * sizeof(float));
  });
}

TEST(DcS3gd, ReachesWhatSynchronousSgdReaches) {
  for (const char* strategy : {"dc_s3gd", "dc_s3gd:per=tensor"}) {
    TrainCase c{.strategy = strategy, .ranks = 2, .steps = 60, .optimizer = "sgd:momentum=0.9", .lr = 0.05};
    const Trained run = train(c);
    c.strategy = "ssgd";
    EXPECT_GT(*run.summary.accuracy, *train(c).summary.accuracy - 0.03) << strategy;
  }
}

TEST(DcS3gd, ResumesBitForBit) {
  for (const char* strategy : {"dc_s3gd", "dc_s3gd:resync=5,per=tensor"})
    for (const char* optimizer : {"sgd:momentum=0.9", "adam"}) {
      const ReplicaCase c{.strategy = strategy, .ranks = 3, .steps = 12, .optimizer = optimizer};
      const Weights whole = run_replicas(c);
      for (const std::int64_t at : {0, 5, 9})
        EXPECT_EQ(run_resumed(c, at), whole) << strategy << " at " << at;
    }
}

// A mean of two identities has the bits of the all-reduce.
TEST(DcS3gd, ThatLeavesNothingOutIsItself) {
  for (const char* strategy : {"dc_s3gd", "dc_s3gd:resync=4", "dc_s3gd:resync=1"}) {
    ReplicaCase c{.strategy = strategy, .ranks = 2, .optimizer = "sgd:momentum=0.9"};
    const Weights plain = run_replicas(c);
    for (const char* compress : {"identity:min=0", "identity"}) {
      c.compress = compress;
      EXPECT_EQ(run_replicas(c), plain) << strategy << " with " << compress;
    }
  }
}

// What this rank has not sent yet, as the saved state has it.
std::vector<float> unsent(Replica& r, Strategy& s) {
  StateWriter writer;
  s.save(r, writer);
  StateReader state(writer.bytes());
  state.number("dc_s3gd.sent");
  for (int i = 0; i < 3; ++i) state.floats("dc_s3gd.vectors");
  state.floats("mean.last_lr");
  state.floats("momentum");
  return state.floats("feedback.residual");
}

// The mean of all models and of what the ranks have not sent is where all updates lead: nothing is lost, also where
// weights are exchanged in between.
TEST(DcS3gd, ConservesUpdatesThatTravelCompressed) {
  for (const char* strategy : {"dc_s3gd:resync=0", "dc_s3gd:resync=5", "dc_s3gd:lambda=0"})
    for (const char* compress : {"topk:ratio=0.05,ef,min=0,via=gather", "onebit:ef,min=0,block=16,via=gather",
                                 "powersgd:ef,min=0"}) {
      ReplicaCase c{.strategy = strategy, .ranks = 3, .compress = compress};
      c.lr = [](std::int64_t t) { return t < 8 ? 0.1F : 0.02F; };
      with_replicas(c, [&](Replica& r, Strategy& s) {
        std::vector<float> all = weights_of(r);  // with every update in it
        for (std::int64_t t = 0; t < 15; ++t) {
          std::vector<float> before(c.parameters);
          s.model(r, before);
          take_steps(r, s, t, t + 1);
          std::vector<float> update = weights_of(r);
          kernels::subtract(before, update);
          r.comm().mean(update);
          kernels::add(update, all);
          std::vector<float> there(c.parameters);
          s.model(r, there);
          std::vector<float> rest = unsent(r, s);
          r.comm().mean(rest);
          kernels::add(rest, there);
          expect_near(there, all, 2e-5F);
          if (HasFailure()) FAIL() << strategy << " with " << compress << ", step " << t;
        }
        s.finish(r);
      });
    }
}

TEST(DcS3gd, SendsCompressedUpdatesInTheBackgroundAndWholeWeights) {
  // To the other rank: a length of 4 and 4 + 8 k bytes for the k = 8 largest of 150 values, or all of them.
  constexpr std::uint64_t kUpdate = 4 + 4 + 8 * 8;
  for (const std::int64_t resync : {0, 5}) {
    const ReplicaCase c{.strategy = "dc_s3gd:resync=" + std::to_string(resync),
                        .ranks = 2,
                        .compress = "topk:ratio=0.05,ef,min=0"};
    with_replicas(c, [&](Replica& r, Strategy& s) {
      const std::uint64_t started = r.comm().ledger().sent(Tag::Lane::kTrain).payload;
      take_steps(r, s, 0, 10);
      s.finish(r);
      EXPECT_EQ(r.comm().ledger().sent(Tag::Lane::kTrain).payload, started);
      const std::uint64_t whole = resync == 0 ? 0 : 2;
      EXPECT_EQ(r.comm().ledger().sent(Tag::Lane::kBackground).payload,
                (10 - whole) * kUpdate + whole * 150 * sizeof(float));
    });
  }
}

TEST(DcS3gd, ResumesBitForBitWithACompressor) {
  for (const char* compress :
       {"topk:ratio=0.05,ef,min=0", "qsgd:levels=127,min=0,via=scatter", "powersgd:ef,min=0"}) {
    const ReplicaCase c{.strategy = "dc_s3gd:resync=4",
                        .ranks = 3,
                        .steps = 12,
                        .optimizer = "sgd:momentum=0.9",
                        .compress = compress};
    const Weights whole = run_replicas(c);
    for (const std::int64_t at : {0, 4, 9}) EXPECT_EQ(run_resumed(c, at), whole) << compress << " at " << at;
  }
}

TEST(DcS3gd, ADamagedStateIsRefused) {
  with_replicas({.strategy = "dc_s3gd", .ranks = 1}, [](Replica& r, Strategy& s) {
    StateWriter state;
    state.write("dc_s3gd.sent", std::uint64_t{7});
    StateReader reader(state.bytes());
    EXPECT_NE(refusal([&] { s.load(r, reader); }).find("dc_s3gd.sent"), std::string::npos);
  });
}

TEST(DcS3gd, BadOptionsAreRefused) {
  const auto why = [](const char* spec, const char* compress = "") {
    return refusal([&] { make_strategy(builtin_strategies(), spec, 4, compress); });
  };
  EXPECT_NE(why("dc_s3gd:lambda=-1").find("lambda=-1"), std::string::npos);
  EXPECT_NE(why("dc_s3gd:per=layer").find("layer"), std::string::npos);
  EXPECT_NE(why("dc_s3gd:resync=-1").find("resync=-1"), std::string::npos);
  EXPECT_NE(why("dc_s3gd", "onebit,ef,momentum=0.9").find("momentum"), std::string::npos);
}

}  // namespace
}  // namespace tacit::test
