// SPDX-License-Identifier: MIT
// What every registered compressor must do, and the error bounds of its paper.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "compress/feedback.h"
#include "support/payloads.h"
#include "support/refusal.h"
#include "support/simd_targets.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 31, 1'000'003};

// Every registered name with its default options, and forms that take other paths.
std::vector<std::string> specs() {
  std::vector<std::string> all = builtin_compressors().names();
  for (const char* more :
       {"qsgd:levels=1", "qsgd:levels=127,norm=max", "qsgd:elias", "qsgd:elias,levels=127,bucket=64",
        "int8:block=16", "onebit:block=64", "topk:ratio=1", "topk:ratio=0.3", "drop:ratio=0.2", "topk:packed",
        "topk:packed,ratio=0.3", "drop:packed", "randomk:ratio=0.5", "randomk,ef", "powersgd:rank=4"})
    all.emplace_back(more);
  return all;
}

std::vector<std::uint32_t> bits(ConstFloatView x) {
  std::vector<std::uint32_t> out;
  for (const float v : x.host()) out.push_back(std::bit_cast<std::uint32_t>(v));
  return out;
}

Floats denormals(std::size_t n) {
  Floats x = normals(n, 2);
  for (float& v : x) v *= 1e-39F;
  return x;
}

class EveryCompressor : public ::testing::TestWithParam<std::string> {
 protected:
  const Compression c_ = Compression::parse(GetParam());
};

TEST_P(EveryCompressor, GivesFiniteValuesAtAllLengths) {
  for (const std::size_t n : kLengths)
    for (const Floats& x : {normals(n), Floats(n), denormals(n), Floats(n, 3e38F)}) {
      if (c_.maker.sketch && n > 0 && x[0] > 1e38F) continue;  // sums, which do not fit into floats
      const Floats y = through(c_, x);
      ASSERT_TRUE(kernels::all_finite(y)) << n << " values like " << (n > 0 ? x[0] : 0);
    }
}

TEST_P(EveryCompressor, KeepsZerosZero) { EXPECT_EQ(through(c_, Floats(1003)), Floats(1003)); }

TEST_P(EveryCompressor, LosesNoMoreOfDenormalsThanTheSmallestNormalNumber) {
  const Floats x = denormals(1003);
  const Floats y = through(c_, x);
  const float weight = c_.name == "randomk" && c_.maker.traits.unbiased ? 200.0F : 1.0F;
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_LE(std::abs(x[i] - y[i]), weight * 1.2e-38F) << i;
}

TEST_P(EveryCompressor, GivesTheSameBitsOnEverySimdTargetAndEveryTime) {
  for (const std::size_t n : {31U, 10'007U}) {
    const Floats x = normals(n);
    const auto want = bits(through(c_, x, 5));
    on_every_target([&] { EXPECT_EQ(bits(through(c_, x, 5)), want); });
  }
}

TEST_P(EveryCompressor, WritesTheSameBytesOnEverySimdTarget) {
  if (!c_.maker.compressor) GTEST_SKIP() << "a sketch has floats";
  const Floats x = normals(10'007);
  const auto by = c_.maker.compressor();
  const std::string want = hex(encode(*by, x).bytes());
  on_every_target([&] { EXPECT_EQ(hex(encode(*by, x).bytes()), want); });
}

TEST_P(EveryCompressor, IsUnbiasedOver10000DrawsWhereItSaysSo) {
  constexpr int kDraws = 10'000;
  const Floats x = normals(24, 4);
  std::vector<double> sum(x.size());
  std::vector<double> squares(x.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    const Floats y = through(c_, x, draw);
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum[i] += static_cast<double>(y[i]);
      squares[i] += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    }
  }
  double worst = 0;  // in standard deviations of a mean of so many draws
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double mean = sum[i] / kDraws;
    const double deviation = std::sqrt(std::max(0.0, squares[i] / kDraws - mean * mean) / kDraws);
    worst = std::max(worst, std::abs(mean - static_cast<double>(x[i])) / (deviation + 1e-5));
  }
  if (c_.maker.traits.unbiased) {
    EXPECT_LT(worst, 5) << "of 24 means, one in 70,000 runs is further away";
  } else if (GetParam() != "topk:ratio=1" && GetParam() != "powersgd:rank=4") {  // those lose nothing here
    EXPECT_GT(worst, 5) << "say that it is unbiased";
  }
}

TEST_P(EveryCompressor, ContractsWhereItSaysSo) {
  if (!c_.maker.traits.contracts) GTEST_SKIP() << "it does not say so";
  const Compression c =
      c_.memory == Memory::kNone && c_.name == "randomk" ? Compression::parse("randomk,ef") : c_;
  const Floats x = normals(20'000, 6);
  double lost = 0;
  for (int step = 0; step < 5; ++step) lost += std::pow(kernels::distance2(x, through(c, x, step)), 2) / 5;
  EXPECT_LT(lost, std::pow(kernels::norm2(x), 2) * 0.9999);
}

TEST_P(EveryCompressor, WhatWasSentPlusTheResidualIsWhatWasGiven) {
  if (!c_.maker.traits.contracts) GTEST_SKIP() << "takes no ef";
  const Compression c =
      Compression::parse(GetParam() + (GetParam().find_first_of(":,") == std::string::npos ? ":" : ",") +
                         std::string("min=0") + (c_.memory == Memory::kNone ? ",ef" : ""));
  const std::size_t n = 5003;
  Floats like(n);
  Feedback memory(Memory::kErrorFeedback, 0, like);
  const auto sketch = c.maker.sketch ? c.maker.sketch({n, 0}) : nullptr;
  const auto by = c.maker.compressor ? c.maker.compressor() : nullptr;
  std::vector<double> given(n);
  std::vector<double> sent(n);
  for (int step = 0; step < 4; ++step) {
    const Floats g = normals(n, 10 + step);
    for (std::size_t i = 0; i < n; ++i) given[i] += static_cast<double>(g[i]);
    ASSERT_TRUE(memory.take(g, {0, n}, 1));
    Floats y(n);
    if (by) {
      const Payload payload = encode(*by, memory.pending(), step);
      by->decode_add(payload.bytes(), 1, y);
      memory.sent({0, n}, *by, payload.bytes());
    } else {
      sketch->begin(rounding(step));
      for (int round = 0; round < sketch->rounds(); ++round) {
        Floats mean(sketch->floats(round));
        sketch->sketch(round, memory.pending(), mean);
        sketch->learn(round, mean);
      }
      sketch->decode_add(1, y);
      memory.sent({0, n}, *sketch);
    }
    memory.commit();
    for (std::size_t i = 0; i < n; ++i) sent[i] += static_cast<double>(y[i]);
  }
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_NEAR(sent[i] + static_cast<double>(memory.residual().host()[i]), given[i], 2e-5) << i;
}

TEST_P(EveryCompressor, RefusesPayloadsOfAnotherLengthBeforeItTouchesTheVector) {
  if (!c_.maker.compressor) GTEST_SKIP() << "a sketch has no payloads";
  const auto by = c_.maker.compressor();
  for (const std::size_t n : {1U, 31U, 5000U}) {
    const Payload whole = encode(*by, normals(n));
    for (std::size_t cut = 1; cut <= std::min<std::size_t>(40, whole.bytes().size()); ++cut) {
      const Payload shorter(whole.bytes().first(whole.bytes().size() - cut));
      Floats y(n, 1.0F);
      EXPECT_THROW(by->decode_add(shorter.bytes(), 1, y), Mismatch)
          << n << " values, " << cut << " bytes less";
      EXPECT_EQ(y, Floats(n, 1.0F));
    }
    std::vector<std::byte> longer(whole.bytes().begin(), whole.bytes().end());
    longer.resize(longer.size() + 4);
    Floats y(n, 1.0F);
    EXPECT_THROW(by->decode_add(Payload(longer).bytes(), 1, y), Mismatch);
    EXPECT_EQ(y, Floats(n, 1.0F));
  }
}

// Bytes that were never written must not be read as positions outside the vector; a sanitizer sees those.
TEST_P(EveryCompressor, SurvivesDamagedPayloads) {
  if (!c_.maker.compressor) GTEST_SKIP() << "a sketch has no payloads";
  const auto by = c_.maker.compressor();
  const Payload good = encode(*by, normals(700));
  Rng rng(1, 2, 3, Rng::Use::kData);
  for (int turn = 0; turn < 2000; ++turn) {
    Payload bad = good;
    for (int hits = 0; hits < 3; ++hits)
      bad.bytes()[rng.below(bad.bytes().size())] = static_cast<std::byte>(rng.next());
    Floats y(700);
    try {
      by->decode_add(bad.bytes(), 1, y);
    } catch (const Mismatch&) {
    }
  }
}

TEST_P(EveryCompressor, WritesTheSameBytesWhenItIsUsedAgain) {
  if (!c_.maker.compressor) GTEST_SKIP() << "a sketch belongs to one length";
  const auto by = c_.maker.compressor();
  const Floats x = normals(5000);
  EXPECT_EQ(hex(encode(*by, x).bytes()), hex(encode(*by, x).bytes()))
      << "scratch of a call leaks into the next";
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, EveryCompressor, ::testing::ValuesIn(specs()), test_name);

double squared_error(const std::string& spec, ConstFloatView x, int draws = 1) {
  const Compression c = Compression::parse(spec);
  double sum = 0;
  for (int i = 0; i < draws; ++i) sum += std::pow(kernels::distance2(x, through(c, x, i)), 2);
  return sum / draws;
}

TEST(ErrorBounds, HalfPrecision) {
  Floats x = normals(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= std::ldexp(1.0F, static_cast<int>(i % 40) - 28);
  x.push_back(65504);
  x.push_back(1e30F);
  const Floats y = through(Compression::parse("fp16"), x);
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    EXPECT_LE(std::abs(y[i] - x[i]), std::max(std::abs(x[i]) * 0x1.0p-11F, 0x1.0p-25F)) << x[i];
  EXPECT_EQ(y.back(), 65504);
}

TEST(ErrorBounds, Bfloat16) {
  const Floats x = normals(1000);
  const Floats y = through(Compression::parse("bf16"), x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_LE(std::abs(y[i] - x[i]), std::abs(x[i]) * 0x1.0p-8F);
  EXPECT_TRUE(kernels::all_finite(through(Compression::parse("bf16"), Floats{3.4e38F, -3.4028235e38F})));
}

TEST(ErrorBounds, Int8IsWithinHalfAStep) {
  const Floats x = normals(3000);
  const Floats y = through(Compression::parse("int8:block=1000"), x);
  for (std::size_t b = 0; b < 3; ++b) {
    const auto [lo, hi] = std::minmax_element(x.begin() + static_cast<std::ptrdiff_t>(b * 1000),
                                              x.begin() + static_cast<std::ptrdiff_t>((b + 1) * 1000));
    for (std::size_t i = b * 1000; i < (b + 1) * 1000; ++i)
      EXPECT_LE(std::abs(y[i] - x[i]), (*hi - *lo) / 510 * 1.0001F);
  }
}

TEST(ErrorBounds, OneBitLosesWhatTheMeanMagnitudeDoesNotSay) {
  const Floats x = normals(4096);
  const double n1 = kernels::norm1(x);
  const double n2 = std::pow(kernels::norm2(x), 2);
  EXPECT_NEAR(squared_error("onebit:block=4096", x), n2 - n1 * n1 / 4096, 1e-3 * n2);
}

TEST(ErrorBounds, TopKLosesAtMostItsShareAndExactlyTheSmallest) {
  const Floats x = normals(10'000);
  Floats sizes(x);
  for (float& v : sizes) v = std::abs(v);
  std::sort(sizes.begin(), sizes.end());
  double rest = 0;
  for (std::size_t i = 0; i < 9'900; ++i)
    rest += static_cast<double>(sizes[i]) * static_cast<double>(sizes[i]);
  EXPECT_NEAR(squared_error("topk:ratio=0.01", x), rest, 1e-4 * rest);
  EXPECT_EQ(through(Compression::parse("topk:ratio=1"), x), x);
}

TEST(ErrorBounds, QsgdKeepsItsVariance) {
  const Floats x = normals(512);
  const double n2 = std::pow(kernels::norm2(x), 2);
  for (const double s : {1.0, 7.0, 127.0}) {
    const std::string spec = "qsgd:bucket=512,levels=" + std::to_string(static_cast<int>(s));
    const double bound = std::min(512 / (s * s), std::sqrt(512.0) / s);
    EXPECT_LE(squared_error(spec, x, 50), bound * n2) << spec;
    EXPECT_GT(squared_error(spec, x, 50), 0.01 * bound * n2) << spec;
  }
}

TEST(ErrorBounds, TernGradHasTheVarianceOfItsPaper) {
  const Floats x = normals(4096);
  const auto m = static_cast<double>(kernels::max_abs(x));
  double want = 0;
  for (const float v : x) want += std::abs(static_cast<double>(v)) * (m - std::abs(static_cast<double>(v)));
  EXPECT_NEAR(squared_error("terngrad", x, 50), want, 0.02 * want);
}

TEST(ErrorBounds, PowerSgdFindsALowRankMatrix) {
  const Floats a = normals(40, 21);
  const Floats b = normals(60, 22);
  const Floats c = normals(40, 23);
  const Floats d = normals(60, 24);
  Floats x(40 * 60);
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 60; ++j) x[i * 60 + j] = a[i] * b[j] + c[i] * d[j];
  const auto sketch = Compression::parse("powersgd:rank=2").maker.sketch({x.size(), 40});
  EXPECT_EQ(sketch->floats(0) + sketch->floats(1), 2U * (40 + 60));
  sketch->begin(rounding(0));
  for (int round = 0; round < 2; ++round) {
    Floats mean(sketch->floats(round));
    sketch->sketch(round, x, mean);
    sketch->learn(round, mean);
  }
  Floats left = x;
  sketch->settle(left);
  EXPECT_LT(kernels::norm2(left), 1e-3 * kernels::norm2(x));
}

TEST(ErrorBounds, DropSendsAboutItsRatio) {
  const Floats x = normals(1'000'000);
  const auto by = Compression::parse("drop:ratio=0.01").maker.compressor();
  const auto sent = static_cast<double>(encode(*by, x).bytes().size() - 4) / 8;
  EXPECT_NEAR(sent, 10'000, 3'000);  // the sample of 4096 has 41 values above; five deviations are 32
}

TEST(GoldenBytes, OfEveryCompressor) {
  const Floats x{1.0F, -2.0F, 0.5F, 0.0F, 3.0F, -0.25F, 1e-3F, -4.0F, 0.125F};
  const auto golden = [&](const char* spec) {
    return hex(encode(*Compression::parse(spec).maker.compressor(), x).bytes());
  };
  EXPECT_EQ(golden("identity"), "0000803f000000c00000003f0000000000004040000080be6f12833a000080c00000003e");
  EXPECT_EQ(golden("fp16"), "003c00c000380000004200b4191400c40030");
  EXPECT_EQ(golden("bf16"), "803f00c0003f0000404080be833a80c0003e");
  EXPECT_EQ(golden("topk:ratio=0.3"),
            "03000000"
            "01000000"
            "04000000"
            "07000000"
            "000000c0"
            "00004040"
            "000080c0");
  EXPECT_EQ(golden("drop:ratio=0.3"), golden("topk:ratio=0.3")) << "so few values are their own sample";
  EXPECT_EQ(golden("topk:ratio=0.3,packed"),
            "03000000"
            "00c0404080c0"
            "64")
      << "gaps of 1, 2 and 2: 01, 100, 100";
  EXPECT_EQ(golden("onebit"),
            "4fae9a3f"
            "a200");
  EXPECT_EQ(golden("int8"),
            "000000bf"
            "e2e0e03c"
            "b649a492ff89920096");
  EXPECT_EQ(golden("qsgd"),
            "0667493f"
            "787528770b");
  EXPECT_EQ(golden("qsgd:elias"),
            "0667493f"
            "b030451b50");
  EXPECT_EQ(golden("terngrad"),
            "00008040"
            "150915");
}

TEST(BadPayloads, SparsePositionsAreCheckedOneByOne) {
  for (const char* spec : {"topk:ratio=0.3", "drop:ratio=0.3"}) {
    const auto by = Compression::parse(spec).maker.compressor();
    const Payload good = encode(*by, normals(10));
    const auto with = [&](std::size_t word, std::uint32_t value) {
      Payload bad = good;
      std::memcpy(bad.bytes().data() + 4 * word, &value, 4);
      return bad;
    };
    const auto position = [&](std::size_t i) {
      std::uint32_t p = 0;
      std::memcpy(&p, good.bytes().data() + 4 * (1 + i), 4);
      return p;
    };
    Floats y(10, 1.0F);
    const auto message = [&](const Payload& bad) {
      return refusal<Mismatch>([&] { by->decode_add(bad.bytes(), 1, y); });
    };
    EXPECT_NE(message(with(0, 0xFFFFFFFFU)).find("counts more"), std::string::npos);
    EXPECT_NE(message(with(0, 2)).find("bytes"), std::string::npos);
    EXPECT_NE(message(with(0, 0x20000003U)).find("counts more"), std::string::npos)
        << "8 count overflows 32 bits";
    EXPECT_NE(message(with(3, 10)).find("out of range"), std::string::npos);
    EXPECT_NE(message(with(3, 0xFFFFFFFFU)).find("out of range"), std::string::npos);
    EXPECT_NE(message(with(2, position(0))).find("out of order"), std::string::npos) << "twice the same";
    EXPECT_NE(message(with(1, position(2))).find("out of order"), std::string::npos);
    EXPECT_EQ(y, Floats(10, 1.0F));
  }
}

TEST(BadPayloads, EliasNumbersThatAreTooLargeAreRefused) {
  const auto by = Compression::parse("qsgd:elias").maker.compressor();
  Floats y(10, 1.0F);
  const std::vector<std::byte> ones(60, std::byte{0xFF});
  EXPECT_THROW(by->decode_add(Payload(ones).bytes(), 1, y), Mismatch);
  EXPECT_EQ(y, Floats(10, 1.0F));
}

}  // namespace
}  // namespace tacit::test
