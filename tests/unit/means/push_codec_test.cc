// SPDX-License-Identifier: MIT
#include "tacit/strategy/push_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/payloads.h"
#include "support/refusal.h"
#include "support/replicas.h"
#include "tacit/core/error.h"
#include "tacit/protocols/shards.h"

namespace tacit::test {
namespace {

constexpr std::size_t kValues = 1500;  // tensors of 500 and 1000
constexpr int kServers = 4;

// Adds up what a shard hears, times the rate of its step.
class HeardRule final : public ShardRule {
 public:
  HeardRule(const Replica& r, FloatView sum) : worker_(r), sum_(sum) {}
  void push(int, std::int64_t step, ConstFloatView x) override { kernels::axpy(worker_.lr(step), x, sum_); }
  ConstFloatView pull(int, std::int64_t) override { return {}; }

 private:
  const Replica& worker_;
  FloatView sum_;
};

// A worker, its codec and what shards heard of it.
struct Pushing {
  Pushing(Replica& r) : worker(r), codec(std::move(r.make_push_codecs(kServers)[0])), heard(kValues) {
    for (const Slice& shard : Shards::parts(kValues, kServers))
      rules.push_back(codec->decoding(shard, std::make_unique<HeardRule>(r, part(FloatView(heard), shard))));
  }
  void push(std::int64_t t, const Floats& x) {
    worker.set_t(t);
    const std::span<const ConstBytes> messages = codec->encode(worker, x);
    bytes.clear();
    for (std::size_t s = 0; s < rules.size(); ++s) {
      bytes.push_back(messages[s].size());
      rules[s]->receive(0, t, messages[s]);
    }
  }
  Floats residual() {
    StateWriter saved;
    codec->save(worker, saved);
    StateReader state(saved.bytes());
    state.floats("mean.last_lr");
    state.floats("momentum");
    return state.floats("feedback.residual");
  }

  Replica& worker;
  std::unique_ptr<PushCodec> codec;
  Floats heard;
  std::vector<std::unique_ptr<ShardRule>> rules;
  std::vector<std::size_t> bytes;  // of the last messages
};

void with_codec(const std::string& compress, const std::function<void(Replica&)>& body) {
  ReplicaCase c{.strategy = "ssgd", .ranks = 1, .compress = compress, .parameters = kValues};
  c.lr = [](std::int64_t t) { return t < 4 ? 0.5F : t < 8 ? 0.05F : 0.2F; };
  with_replicas(c, [&](Replica& r, Strategy&) { body(r); });
}

TEST(PushCodec, ThatLeavesNothingOutSaysWhatItIsGiven) {
  for (const char* compress : {"", "identity:min=0", "identity:min=600", "topk:ratio=1,ef,min=600",
                               "topk:ratio=1,ef,min=0,per=tensor"})
    with_codec(compress, [&](Replica& r) {
      Pushing p(r);
      Floats want(kValues);
      for (std::int64_t t = 0; t < 3; ++t) {
        const Floats x = normals(kValues, t);
        p.push(t, x);
        kernels::axpy(r.lr(t), x, want);
        EXPECT_EQ(p.heard, want) << compress;
      }
    });
}

// sum eta_t said_t + eta_T e_T = sum eta_t g_t, whatever eta does in between.
TEST(PushCodec, WithFeedbackForgetsNothing) {
  for (const char* compress : {"topk:ratio=0.05,ef,min=0", "topk:ratio=0.05,ef,min=0,per=tensor",
                               "onebit:ef,min=0,block=64", "drop:ratio=0.05,ef,min=0", "int8:ef,min=0"})
    with_codec(compress, [&](Replica& r) {
      Pushing p(r);
      Floats all(kValues);
      for (std::int64_t t = 0; t < 12; ++t) {
        const Floats x = normals(kValues, t);
        p.push(t, x);
        kernels::axpy(r.lr(t), x, all);
        Floats said = p.heard;
        kernels::axpy(r.lr(t), p.residual(), said);
        for (std::size_t i = 0; i < kValues; ++i)
          ASSERT_NEAR(said[i], all[i], 2e-5) << compress << ", step " << t;
        EXPECT_GT(kernels::distance2(p.heard, all), 1e-3) << "nothing was left out by " << compress;
      }
    });
}

// Shards of 384, 384, 384 and 348 values: a message is a length of 4 and 4 + 8 k bytes for every part that is compressed,
// and a length and the values for those that are not.
TEST(PushCodec, SendsWhatItKeeps) {
  using Bytes = std::vector<std::size_t>;
  const auto sent = [](const char* compress) {
    Bytes bytes;
    with_codec(compress, [&](Replica& r) {
      Pushing p(r);
      p.push(0, normals(kValues));
      bytes = p.bytes;
    });
    return bytes;
  };
  const std::vector<Slice> shards = Shards::parts(kValues, kServers);
  ASSERT_EQ(shards.size(), 4U);
  const auto topk = [](std::size_t values) {
    return 4 + 4 + 8 * static_cast<std::size_t>(std::ceil(0.05 * static_cast<double>(values)));
  };
  Bytes want;
  for (const Slice& s : shards) want.push_back(topk(s.count));
  EXPECT_EQ(sent("topk:ratio=0.05,ef,min=0"), want);
  // The second shard has the end of the first tensor and the beginning of the second.
  const std::size_t first = 500 - shards[1].offset;
  want[1] = topk(first) + topk(shards[1].count - first);
  EXPECT_EQ(sent("topk:ratio=0.05,ef,min=0,per=tensor"), want);
  want[0] = 4 + 4 * shards[0].count;
  want[1] = 4 + 4 * first + topk(shards[1].count - first);
  EXPECT_EQ(sent("topk:ratio=0.05,ef,min=600"), want);
  EXPECT_EQ(sent(""),
            (Bytes{4 * shards[0].count, 4 * shards[1].count, 4 * shards[2].count, 4 * shards[3].count}));
}

TEST(PushCodec, RefusesNanAndKeepsItsMemory) {
  with_codec("topk:ratio=0.05,ef", [](Replica& r) {
    Pushing p(r);
    p.push(0, normals(kValues));
    const Floats before = p.residual();
    Floats bad = normals(kValues, 1);
    bad[700] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_NE(refusal<Diverged>([&] { p.push(5, bad); }).find("tensor 1"), std::string::npos);
    EXPECT_EQ(p.residual(), before);
  });
}

TEST(PushCodec, RefusesAMessageOfAnotherShard) {
  with_codec("topk:ratio=0.05,ef", [](Replica& r) {
    Pushing p(r);
    const std::span<const ConstBytes> messages = p.codec->encode(r, normals(kValues));
    EXPECT_THROW(p.rules[0]->receive(0, 0, messages[1].first(messages[1].size() - 4)), Mismatch);
  });
}

TEST(PushCodec, GoesOnFromSavedStateAsIfItHadNotStopped) {
  for (const char* compress : {"topk:ratio=0.05,ef", "topk:ratio=0.05,dgc", "onebit:ef,momentum=0.9", "qsgd"})
    with_codec(compress, [&](Replica& r) {
      Pushing first(r);
      for (std::int64_t t = 0; t < 4; ++t) first.push(t, normals(kValues, t));
      StateWriter saved;
      first.codec->save(r, saved);
      Pushing second(r);
      StateReader state(saved.bytes());
      second.codec->load(r, state);
      EXPECT_TRUE(state.at_end());
      second.heard = first.heard;
      for (std::int64_t t = 4; t < 6; ++t) {
        first.push(t, normals(kValues, t));
        second.push(t, normals(kValues, t));
        EXPECT_EQ(first.heard, second.heard) << compress;
      }
    });
}

// A gradient that stays the same is said 1/(1 - mu) times as large in the end.
TEST(PushCodec, KnowsTheGainOfAMomentumInFront) {
  for (const char* compress : {"topk:ratio=1,ef,momentum=0.75", "identity", ""})
    with_codec(compress, [&](Replica& r) {
      Pushing p(r);
      const Floats x = normals(kValues);
      Floats before;
      for (std::int64_t t = 8; t < 60; ++t) {
        before = p.heard;
        p.push(t, x);
      }
      kernels::subtract(before, p.heard);
      for (std::size_t i = 0; i < kValues; ++i)
        ASSERT_NEAR(p.heard[i] / r.lr(59), p.codec->gain() * static_cast<double>(x[i]), 1e-3) << compress;
    });
}

}  // namespace
}  // namespace tacit::test
