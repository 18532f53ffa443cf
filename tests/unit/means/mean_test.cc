// SPDX-License-Identifier: MIT
// Means as strategies see them: in pieces, in the background, and of weights.
#include "tacit/strategy/mean.h"

#include <gtest/gtest.h>

#include "support/payloads.h"
#include "support/refusal.h"
#include "support/replicas.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr std::size_t kValues = 1000;
const Slice kParts[] = {{700, 300}, {200, 150}};  // the rest is in two pieces

Floats given(const Replica& r, std::int64_t t) { return normals(kValues, 100 * t + r.rank()); }

// Runs the body for a mean with this compressor on every rank; the rate changes at step 2.
void with_mean(const std::string& compress, const MeanOptions& options,
               const std::function<void(Replica&, Mean&)>& body) {
  ReplicaCase c{.strategy = "ssgd", .ranks = 3, .compress = compress, .parameters = kValues};
  c.lr = [](std::int64_t t) { return t < 2 ? 0.5F : 0.1F; };
  with_replicas(c, [&](Replica& r, Strategy&) {
    const auto mean = r.make_mean(options);
    body(r, *mean);
    mean->finish(r);
  });
}

TEST(Mean, OfPiecesHasTheBitsOfTheSamePiecesOnEveryRank) {
  with_mean("", {}, [](Replica& r, Mean& mean) {
    for (std::int64_t t = 0; t < 3; ++t) {
      Floats want = given(r, t);
      for (const Slice& each : {kParts[0], kParts[1], Slice{0, 200}, Slice{350, 350}})
        r.comm().mean(part(FloatView(want), each));
      for (const bool behind : {false, true}) {
        Floats x = given(r, t);
        for (const Slice& each : kParts) mean.begin(r, each, x);
        if (behind) {
          mean.start(r, x)->wait();
        } else {
          mean.mean(r, x);
        }
        EXPECT_EQ(x, want);
      }
    }
  });
}

TEST(Mean, InOnePieceIsTheAllReduce) {
  with_mean("", {}, [](Replica& r, Mean& mean) {
    Floats want = given(r, 0);
    r.comm().mean(want);
    for (const Slice& begun : {Slice{0, 0}, Slice{0, kValues}}) {
      Floats x = given(r, 0);
      if (begun.count > 0) mean.begin(r, begun, x);
      mean.mean(r, x);
      EXPECT_EQ(x, want);
    }
    EXPECT_TRUE(mean.exact());
  });
}

TEST(Mean, APartThatWasBegunTwiceIsABug) {
  with_mean("", {}, [](Replica& r, Mean& mean) {
    Floats x = given(r, 0);
    mean.begin(r, {0, 10}, x);
    mean.begin(r, {5, 10}, x);
    EXPECT_THROW(mean.mean(r, x), Bug);
  });
}

// It would wait for ever, and in virtual time end the program.
TEST(Mean, NothingIsStartedBetweenAPartAndTheRest) {
  with_mean("", {}, [](Replica& r, Mean& mean) {
    Floats want = given(r, 0);
    r.comm().mean(want);
    Floats x = given(r, 0);
    mean.begin(r, {0, kValues}, x);
    const auto other = r.make_mean({});
    Floats y = given(r, 1);
    EXPECT_THROW(other->begin(r, {0, 10}, y), InvalidConfig);
    EXPECT_THROW(other->start(r, y), InvalidConfig);
    EXPECT_THROW(r.comm().start([](Collectives&) {}), InvalidConfig);
    mean.mean(r, x);
    EXPECT_EQ(x, want);
    r.comm().start([](Collectives&) {})->wait();
  });
}

// Residuals, momentum, draws and the change of the rate included.
TEST(Mean, CompressedIsTheSameInPiecesAndInTheBackground) {
  for (const char* form : {"topk:ratio=0.1,ef", "qsgd", "onebit:ef,momentum=0.5,via=scatter", "powersgd:ef",
                           "drop:ratio=0.1,dgc"}) {
    std::vector<std::vector<Floats>> results(3);  // by rank
    for (const int way : {0, 1, 2})
      with_mean(form, {.sends = Sends::kGradients}, [&](Replica& r, Mean& mean) {
        EXPECT_FALSE(mean.exact());
        for (std::int64_t t = 0; t < 4; ++t) {
          r.set_t(t);
          Floats x = given(r, t);
          for (const Slice& each : kParts)
            if (way > 0) mean.begin(r, each, x);
          if (way == 2) {
            const auto pending = mean.start(r, x);
            r.set_t(t + 1);  // what it needs of the worker it has read
            pending->wait();
          } else {
            mean.mean(r, x);
          }
          auto& all = results[static_cast<std::size_t>(r.rank())];
          if (way == 0) all.push_back(x);
          EXPECT_EQ(x, all[static_cast<std::size_t>(t)]) << form << ", way " << way << ", step " << t;
        }
      });
  }
}

TEST(Mean, OfWeightsIsExactWhateverTheRunCompressesWith) {
  with_mean("topk:ratio=0.01,ef", {.sends = Sends::kWeights}, [](Replica& r, Mean& mean) {
    Floats want = given(r, 0);
    r.comm().mean(want);
    Floats x = given(r, 0);
    mean.mean(r, x);
    EXPECT_EQ(x, want);
  });
}

TEST(Mean, OfServersIsTheSameBehindTheGradient) {
  with_mean("", {.servers = 2}, [](Replica& r, Mean& mean) {
    Floats want(kValues);
    for (int rank = 0; rank < 3; ++rank) kernels::axpy(1.0F / 3, normals(kValues, rank), want);
    for (std::int64_t t = 0; t < 2; ++t) {
      r.set_t(t);
      Floats x = normals(kValues, r.rank());
      if (t == 0) mean.mean(r, x);
      if (t == 1) mean.start(r, x)->wait();
      for (std::size_t i = 0; i < kValues; ++i) ASSERT_NEAR(x[i], want[i], 1e-6);
    }
  });
}

// Two buckets, of which the first has the end of the second tensor: that belongs to the other, with its beginning.
TEST(Mean, InBucketsIsTheOneOfTheirTensors) {
  const Slice buckets[] = {{600, 400}, {0, 600}};
  for (const char* form :
       {"topk:ratio=0.1,ef,per=bucket", "topk:ratio=0.1,ef,per=tensor", "onebit:ef,momentum=0.5", "fp16",
        "powersgd:ef", "drop:ratio=0.1,dgc,per=bucket"}) {
    std::vector<std::vector<Floats>> results(3);  // by rank
    for (const bool early : {false, true})
      with_mean("", {}, [&](Replica& r, Mean&) {
        r.set_compress(form);
        r.set_buckets(buckets);
        const auto mean = r.make_mean({.sends = Sends::kGradients});
        for (std::int64_t t = 0; t < 4; ++t) {
          r.set_t(t);
          Floats x = given(r, t);
          for (const Slice& each : buckets)
            if (early) mean->begin(r, each, x);
          mean->mean(r, x);
          auto& all = results[static_cast<std::size_t>(r.rank())];
          if (!early) all.push_back(x);
          EXPECT_EQ(x, all[static_cast<std::size_t>(t)]) << form << ", step " << t;
        }
      });
    EXPECT_EQ(results[0], results[1]) << form;
  }
}

TEST(Mean, OfServersHasTheSameBitsInBuckets) {
  const Slice buckets[] = {{600, 400}, {100, 500}, {0, 100}};
  with_mean("", {}, [&](Replica& r, Mean&) {
    const auto whole = r.make_mean({.servers = 2});
    r.set_buckets(buckets);
    const auto cut = r.make_mean({.servers = 2});
    for (std::int64_t t = 0; t < 4; ++t) {
      r.set_t(t);
      Floats want = given(r, t);
      whole->mean(r, want);
      Floats x = given(r, t);
      for (std::int64_t i = 0; i < t; ++i) cut->begin(r, buckets[i], x);
      if (t % 2 == 0) cut->mean(r, x);
      if (t % 2 == 1) cut->start(r, x)->wait();
      EXPECT_EQ(x, want) << "step " << t;
    }
    cut->finish(r);
    whole->finish(r);
  });
}

TEST(Mean, OfServersIsNotCompressed) {
  ReplicaCase c{.strategy = "ssgd", .ranks = 1, .compress = "fp16"};
  with_replicas(c, [&](Replica& r, Strategy&) {
    EXPECT_NE(refusal([&] { r.make_mean({.servers = 1}); }).find("servers=1"), std::string::npos);
  });
}

}  // namespace
}  // namespace tacit::test
