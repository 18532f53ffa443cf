// SPDX-License-Identifier: MIT
#include "means/compressed_mean.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "compress/feedback.h"
#include "support/on_every_rank.h"
#include "support/payloads.h"
#include "support/refusal.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

// Two large tensors with a small one between and one behind.
const std::vector<Slice> kTensors{{0, 3000}, {3000, 10}, {3010, 1500}, {4510, 3}};
const std::vector<std::size_t> kRows{60, 10, 30, 3};
constexpr std::size_t kValues = 4513;

// Of the tensors above, unless others are named.
class TestMean final : public CompressedMean {
 public:
  TestMean(const std::string& spec, const Comm& comm, std::span<const Slice> tensors = kTensors,
           std::span<const std::size_t> rows = kRows)
      : CompressedMean({Compression::parse(spec)}, {like(), tensors, rows}, comm) {}

 private:
  static FloatView like() {
    static Floats x(kValues);
    return x;
  }
};

CompressedMean::Step at(std::int64_t t, int rank) { return {t, Rng(1, rank, t, Rng::Use::kRounding)}; }

Floats input(int rank, std::int64_t t) { return normals(kValues, 100 * t + rank); }

// The results of all ranks after so many steps, the last one's input given back.
std::vector<Floats> run(const std::string& spec, int ranks, int steps, Traffic* sent = nullptr) {
  std::vector<Floats> results(static_cast<std::size_t>(ranks));
  on_every_comm(ranks, [&](Comm& comm) {
    TestMean mean(spec, comm);
    Floats x;
    for (int t = 0; t < steps; ++t) {
      x = input(comm.rank(), t);
      mean.mean(comm, x, at(t, comm.rank()));
    }
    results[static_cast<std::size_t>(comm.rank())] = x;
    if (sent != nullptr && comm.rank() == 0) *sent = comm.ledger().sent(Tag::Lane::kTrain);
  });
  return results;
}

const char* const kForms[] = {"identity",
                              "fp16,ef",
                              "int8",
                              "qsgd",
                              "terngrad",
                              "onebit,ef",
                              "topk:ratio=0.1,ef",
                              "topk:ratio=0.1,ef,per=tensor",
                              "drop:ratio=0.1,ef",
                              "topk:ratio=0.1,dgc",
                              "onebit,ef,momentum=0.9",
                              "randomk:ratio=0.1",
                              "randomk:ratio=0.1,dgc",
                              "powersgd,ef",
                              "randomk:ratio=0.1,ef,per=model"};

TEST(CompressedMean, EndsWithTheSameBitsOnEveryRank) {
  for (const char* form : kForms)
    for (const int ranks : {1, 2, 3, 5})
      for (const char* via : {"", ",via=gather", ",via=scatter"}) {
        std::string spec = form;
        if (*via != 0 && (spec.starts_with("randomk") || spec.starts_with("powersgd"))) continue;
        if (*via != 0)
          spec += spec.find_first_of(":,") == std::string::npos ? ":" + std::string(via + 1) : via;
        const auto results = run(spec, ranks, 3);
        for (const Floats& r : results) ASSERT_EQ(r, results[0]) << spec << ", " << ranks << " ranks";
        EXPECT_TRUE(kernels::all_finite(results[0]));
        EXPECT_EQ(results, run(spec, ranks, 3)) << "another run gives other bits: " << spec;
      }
}

TEST(CompressedMean, OfIdentityIsTheMeanAndSmallTensorsAreExact) {
  for (const char* spec : {"identity:via=gather", "identity:via=scatter", "topk:ratio=0.01", "powersgd"})
    for (const int ranks : {1, 2, 4}) {
      std::vector<Floats> plain(static_cast<std::size_t>(ranks));
      on_every_comm(ranks, [&](Comm& comm) {
        Floats& x = plain[static_cast<std::size_t>(comm.rank())] = input(comm.rank(), 0);
        comm.mean(x);
      });
      const Floats got = run(spec, ranks, 1)[0];
      const bool identity = std::string(spec).starts_with("identity");
      for (std::size_t i = 0; i < kValues; ++i) {
        const bool small = (i >= 3000 && i < 3010) || i >= 4510;
        if (small || identity) {
          ASSERT_NEAR(got[i], plain[0][i], 1e-6) << spec << " at " << i;
        }
      }
      if (!identity) {
        EXPECT_NE(got, plain[0]);
      }
    }
}

// With error feedback on both sides nothing is lost, only late: the mean of many results is the mean of the inputs.
TEST(CompressedMean, WithFeedbackForgetsNothing) {
  for (const char* spec : {"onebit:ef,via=scatter", "onebit:ef,via=gather", "topk:ratio=0.1,ef,via=scatter",
                           "randomk:ratio=0.1,ef", "powersgd:rank=2,ef", "topk:ratio=0.1,ef,per=tensor"}) {
    constexpr int kSteps = 300;
    Floats want(kValues);
    for (int r = 0; r < 3; ++r) kernels::axpy(1.0F / 3, input(r, 0), want);
    Floats sum(kValues);
    on_every_comm(3, [&](Comm& comm) {
      TestMean mean(spec, comm);
      for (int t = 0; t < kSteps; ++t) {
        Floats x = input(comm.rank(), 0);
        mean.mean(comm, x, at(t, comm.rank()));
        if (comm.rank() == 0) kernels::axpy(1.0F / kSteps, x, sum);
      }
    });
    EXPECT_LT(kernels::distance2(sum, want), 0.25 * kernels::norm2(want)) << spec;
  }
}

TEST(CompressedMean, RefusesNanByTensorAndStepAndKeepsItsMemory) {
  for (const char* form : kForms)
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
      for (const std::size_t where : {std::size_t{3500}, std::size_t{3005}})
        on_every_comm(1, [&](Comm& comm) {
          TestMean mean(form, comm);
          Floats x = input(0, 0);
          mean.mean(comm, x, at(0, 0));
          const Floats before(mean.residual().host().begin(), mean.residual().host().end());
          x = input(0, 1);
          x[where] = bad;
          const std::string what = refusal<Diverged>([&] { mean.mean(comm, x, at(41, 0)); });
          EXPECT_NE(what.find("step 41"), std::string::npos) << what;
          EXPECT_NE(what.find(where == 3500 ? "tensor 2" : "tensor 1"), std::string::npos) << what;
          EXPECT_EQ(Floats(mean.residual().host().begin(), mean.residual().host().end()), before) << form;
          x = input(0, 1);
          mean.mean(comm, x, at(42, 0));
          EXPECT_TRUE(kernels::all_finite(x)) << form;
        });
}

TEST(CompressedMean, TakesTheRouteWithFewerBytes) {
  Traffic by_choice;
  Traffic gather;
  Traffic scatter;
  run("onebit:min=0", 4, 1, &by_choice);
  run("onebit:min=0,via=gather", 4, 1, &gather);
  run("onebit:min=0,via=scatter", 4, 1, &scatter);
  EXPECT_LT(scatter.payload, gather.payload);
  EXPECT_EQ(by_choice.payload, scatter.payload);
  run("onebit:min=0", 2, 1, &by_choice);
  run("onebit:min=0,via=gather", 2, 1, &gather);
  EXPECT_EQ(by_choice.payload, gather.payload);
  Traffic nothing;
  run("onebit", 1, 2, &nothing);
  EXPECT_EQ(nothing.payload, 0U);
}

TEST(CompressedMean, GoesOnFromSavedStateAsIfItHadNotStopped) {
  for (const char* form : kForms)
    on_every_comm(3, [&](Comm& comm) {
      TestMean first(form, comm);
      Floats x;
      for (int t = 0; t < 2; ++t) first.mean(comm, x = input(comm.rank(), t), at(t, comm.rank()));
      StateWriter saved;
      first.save(saved);
      TestMean second(form, comm);
      StateReader state(saved.bytes());
      second.load(state);
      EXPECT_TRUE(state.at_end());
      Floats y = x = input(comm.rank(), 2);
      first.mean(comm, x, at(2, comm.rank()));
      second.mean(comm, y, at(2, comm.rank()));
      EXPECT_EQ(x, y) << form;
    });
}

TEST(CompressedMean, RefusesTheStateOfAnotherModel) {
  on_every_comm(1, [&](Comm& comm) {
    TestMean one("onebit,ef", comm);
    StateWriter saved;
    one.save(saved);
    TestMean other("onebit,ef", comm, std::vector<Slice>{{0, 2000}}, {});
    StateReader state(saved.bytes());
    EXPECT_NE(refusal([&] { other.load(state); }).find("feedback.residual"), std::string::npos);
  });
}

// sum eta_t sent_t + eta_T e_T = sum eta_t g_t, whatever eta does in between.
TEST(Feedback, StaysRightWhenTheLearningRateChanges) {
  const std::size_t n = 500;
  const auto by = Compression::parse("topk:ratio=0.02").maker.compressor();
  Floats like(n);
  Feedback memory(Memory::kErrorFeedback, 0, like);
  std::vector<double> given(n);
  std::vector<double> applied(n);
  const float rates[] = {0.5F, 0.5F, 0.05F, 0.05F, 0.2F, 0.01F};
  float last = rates[0];
  int t = 0;
  for (const float eta : rates) {
    const Floats g = normals(n, ++t);
    ASSERT_TRUE(memory.take(g, {0, n}, last / eta));
    const Payload payload = encode(*by, memory.pending());
    const Floats sent = decode(*by, payload, n);
    memory.sent({0, n}, *by, payload.bytes());
    memory.commit();
    for (std::size_t i = 0; i < n; ++i) {
      given[i] += static_cast<double>(eta) * static_cast<double>(g[i]);
      applied[i] += static_cast<double>(eta) * static_cast<double>(sent[i]);
    }
    last = eta;
  }
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_NEAR(applied[i] + static_cast<double>(last) * static_cast<double>(memory.residual().host()[i]),
                given[i], 1e-5);
}

// u <- mu u + g, v <- v + u; what is sent leaves both.
TEST(Feedback, DgcCorrectsMomentumAndMasksIt) {
  const auto by = Compression::parse("topk:ratio=0.5").maker.compressor();
  Floats like(2);
  Feedback memory(Memory::kMomentum, 0.5F, like);
  const Floats g{1, 4};
  const auto step = [&] {
    EXPECT_TRUE(memory.take(g, {0, 2}, 1));
    const Floats pending(memory.pending().host().begin(), memory.pending().host().end());
    memory.sent({0, 2}, *by, encode(*by, memory.pending()).bytes());
    memory.commit();
    return pending;
  };
  EXPECT_EQ(step(), (Floats{1, 4}));      // u = (1, 4), v = (1, 4); the second is sent and cleared
  EXPECT_EQ(step(), (Floats{2.5F, 4}));   // u = (1.5, 4): the second has no momentum
  EXPECT_EQ(step(), (Floats{4.25F, 4}));  // u = (1.75, 4); now the first is sent and cleared
  EXPECT_EQ(step(), (Floats{1, 10}));     // u = (1, 6), v = (1, 4 + 6)
}

// Where nothing is left out, momentum in front of the mean is the optimiser's behind it: g + mu m with ef. Small
// tensors have it as large ones do. The velocity of what dgc sends is cleared, so that there only the small ones keep
// it.
TEST(CompressedMean, HasItsMomentumInFront) {
  const std::vector<Slice> tensors{{0, 300}, {300, 10}};
  for (const char* spec : {"topk:ratio=1,ef,momentum=0.5", "topk:ratio=1,dgc,momentum=0.5"})
    on_every_comm(3, [&](Comm& comm) {
      const bool dgc = std::string(spec).find("dgc") != std::string::npos;
      TestMean mean(spec, comm, tensors, {});
      Floats m(310);
      for (int t = 0; t < 4; ++t) {
        Floats g(310);
        for (int r = 0; r < 3; ++r) kernels::axpy(1.0F / 3, normals(310, 100 * t + r), g);
        Floats x = normals(310, 100 * t + comm.rank());
        mean.mean(comm, x, at(t, comm.rank()));
        for (std::size_t i = 0; i < x.size(); ++i) {
          m[i] = 0.5F * m[i] + g[i];
          const float want = !dgc ? g[i] + 0.5F * m[i] : i < 300 ? g[i] : m[i];
          ASSERT_NEAR(x[i], want, 1e-5) << spec << " at " << i << ", step " << t;
        }
      }
    });
}

}  // namespace
}  // namespace tacit::test
