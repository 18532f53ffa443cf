// SPDX-License-Identifier: MIT
// SSD-SGD whose pushes are compressed (CD-SGD).
#include <gtest/gtest.h>

#include "support/replicas.h"
#include "support/train.h"

namespace tacit::test {
namespace {

TEST(Ssd, ThatLeavesNothingOutIsItself) {
  for (const char* optimizer : {"sgd:momentum=0.9", "adam"})
    for (const char* servers : {"1", "2", "3"}) {
      ReplicaCase c{.strategy = std::string("ssd:warmup=4,delay=3,servers=") + servers, .ranks = 3};
      c.optimizer = optimizer;
      const Weights plain = run_replicas(c);
      for (const char* compress : {"identity:min=0", "identity:min=60", "topk:ratio=1,ef,min=0"}) {
        c.compress = compress;
        EXPECT_EQ(run_replicas(c), plain) << servers << " servers, " << compress;
      }
    }
}

// The servers' weights, less what the ranks have not pushed yet, are those of SGD with the gradients that were computed:
// W_T - eta_T (1/P) sum e_i = W_0 - sum eta_t (1/P) sum g_i, in warm-up and behind, whatever eta does.
TEST(Ssd, ConservesGradientsThatArePushedCompressed) {
  for (const char* servers : {"1", "3"})
    for (const char* compress :
         {"topk:ratio=0.05,ef,min=0", "topk:ratio=0.05,ef,min=0,per=tensor", "onebit:ef,min=0,block=16"}) {
      ReplicaCase c{.strategy = std::string("ssd:warmup=4,delay=3,servers=") + servers,
                    .ranks = 3,
                    .compress = compress};
      c.lr = [](std::int64_t t) { return t < 8 ? 0.1F : 0.02F; };
      with_replicas(c, [&](Replica& r, Strategy& s) {
        std::vector<float> exact = weights_of(r);
        for (std::int64_t t = 0; t < 14; ++t) {
          r.set_t(t);
          r.compute();
          std::vector<float> g(r.gradient().host().begin(), r.gradient().host().end());
          r.comm().mean(g);
          kernels::axpy(-r.lr(), g, exact);
          s.step(r);
          StateWriter writer;
          s.save(r, writer);
          StateReader state(writer.bytes());
          state.number("ssd.t");
          state.number("ssd.pulling");
          state.floats("ssd.pulled");
          state.floats("sgd.velocity");
          state.floats("mean.last_lr");
          state.floats("momentum");
          std::vector<float> rest = state.floats("feedback.residual");
          r.comm().mean(rest);
          std::vector<float> there(c.parameters);
          s.model(r, there);
          kernels::axpy(-r.lr(), rest, there);
          expect_near(there, exact, 2e-5F);
          if (HasFailure()) FAIL() << servers << " servers, " << compress << ", step " << t;
        }
        s.finish(r);
      });
    }
}

TEST(Ssd, PushesCompressedAndPullsAllOfIt) {
  constexpr std::size_t kShard = 800 * sizeof(float);
  constexpr std::size_t kPush = 4 + 4 + 8 * 40;  // the largest 5 % of 800 values
  constexpr std::size_t kHeader = 32;
  const ReplicaCase c{.strategy = "ssd:warmup=5,delay=5",
                      .ranks = 2,
                      .compress = "topk:ratio=0.05,ef,min=0",
                      .parameters = 1600};
  with_replicas(c, [&](Replica& replica, Strategy& s) {
    const auto sent = [&] { return replica.comm().ledger().sent(Tag::Lane::kTrain).payload; };
    replica.comm().barrier();
    const std::uint64_t before = sent();
    take_steps(replica, s, 0, 20);
    s.finish(replica);
    EXPECT_EQ(sent() - before, 20 * (kHeader + kPush) + (5 + 3) * (kHeader + kShard) + kShard);
  });
}

// The momentum of SGD goes in front of the compressor, in Nesterov's form; the servers have none, and a local step has
// it.
TEST(Ssd, TakesTheMomentumInFrontWithErrorFeedback) {
  TrainCase c{.strategy = "ssd:warmup=10,delay=4", .ranks = 2, .steps = 40, .lr = 0.05};
  c.optimizer = "sgd:momentum=0.8,nesterov";
  const Trained plain = train(c);
  c.optimizer = "sgd:momentum=0.8";
  c.compress = "topk:ratio=1,ef,min=0";
  expect_near(train(c).params[0], plain.params[0], 1e-4F);
  c.compress = "topk:ratio=1,ef,momentum=0,min=0";  // stays on the servers
  const Trained behind = train(c);
  c.compress = "";
  EXPECT_EQ(behind.params[0], train(c).params[0]);
}

TEST(Ssd, ResumesBitForBitWithACompressor) {
  for (const char* compress : {"topk:ratio=0.05,ef,min=60", "onebit:ef,momentum=0.9,min=0", "qsgd:min=0"}) {
    ReplicaCase c{
        .strategy = "ssd:warmup=4,delay=3,servers=2", .ranks = 3, .steps = 13, .compress = compress};
    c.lr = [](std::int64_t t) { return t < 8 ? 0.1F : 0.02F; };
    const Weights whole = run_replicas(c);
    for (const std::int64_t at : {0, 2, 6, 10})
      EXPECT_EQ(run_resumed(c, at), whole) << compress << ", saved after " << at;
  }
}

}  // namespace
}  // namespace tacit::test
