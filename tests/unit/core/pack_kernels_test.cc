// SPDX-License-Identifier: MIT
#include "core/pack_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "support/simd_targets.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit::kernels {
namespace {

using Floats = std::vector<float>;
using Bytes8 = std::vector<std::uint8_t>;
using Halves = std::vector<std::uint16_t>;
using test::on_every_target;

constexpr std::size_t kLengths[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 1000, 10007};

Floats normals(std::size_t n, std::int64_t which) {
  Rng rng(7, 0, which, Rng::Use::kData);
  Floats x(n);
  for (float& v : x) v = rng.normal();
  return x;
}

// Values whose codes are known, over and over, so that every lane and every tail sees all of them.
using Known = std::vector<std::pair<float, std::uint16_t>>;
const Known kFp16{{1.0F, 0x3C00},     {-2.0F, 0xC000},        {0.0F, 0x0000},         {-0.0F, 0x8000},
                  {65504.0F, 0x7BFF}, {1e9F, 0x7BFF},         {-FLT_MAX, 0xFBFF},     {0x1p-24F, 0x0001},
                  {0x1p-25F, 0x0000}, {0x1.8p-25F, 0x0001},   {1 + 0x1p-11F, 0x3C00}, {1 + 0x3p-11F, 0x3C02},
                  {0x1p-14F, 0x0400}, {FLT_TRUE_MIN, 0x0000}, {-0.5F, 0xB800}};
const Known kBf16{{1.0F, 0x3F80},        {-2.0F, 0xC000},       {0.0F, 0x0000},    {-0.0F, 0x8000},
                  {1 + 0x1p-8F, 0x3F80}, {1 + 0x3p-8F, 0x3F82}, {FLT_MAX, 0x7F7F}, {-FLT_MAX, 0xFF7F},
                  {0x1p-126F, 0x0080},   {-0.5F, 0xBF00}};

void expect_known(const Known& known, void (*pack)(ConstFloatView, std::span<std::uint16_t>)) {
  for (const std::size_t n : kLengths) {
    Floats x(n);
    Halves want(n);
    for (std::size_t i = 0; i < n; ++i) std::tie(x[i], want[i]) = known[i % known.size()];
    on_every_target([&] {
      Halves got(n);
      pack(x, got);
      EXPECT_EQ(got, want) << n;
    });
  }
}

// What every target gives must be what the first one gave.
template <class T>
class Same {
 public:
  void expect(const T& value) {
    if (!first_) first_ = value;
    EXPECT_EQ(value, *first_) << "targets differ";
  }

 private:
  std::optional<T> first_;
};

TEST(PackKernels, HalvesAreRoundedToNearestAndToEven) {
  expect_known(kFp16, to_fp16);
  expect_known(kBf16, to_bf16);
}

void expect_added(const Known& known, void (*add)(std::span<const std::uint16_t>, float, FloatView)) {
  for (const std::size_t n : kLengths) {
    Halves codes(n);
    Floats want(n);
    for (std::size_t i = 0; i < n; ++i) {
      codes[i] = known[i % known.size()].second;
      want[i] = 1 + 0.5F * known[i % known.size()].first;
    }
    on_every_target([&] {
      Floats y(n, 1);
      add(codes, 0.5F, y);
      EXPECT_EQ(y, want) << n;
    });
  }
}

TEST(PackKernels, HalvesAreAddedWithTheirFactor) {
  expect_added({{1.0F, 0x3C00}, {-2.0F, 0xC000}, {0.0F, 0x8000}, {65504.0F, 0x7BFF}, {0x1p-24F, 0x0001}},
               add_fp16);
  expect_added({{1.0F, 0x3F80}, {-2.0F, 0xC000}, {0.0F, 0x8000}, {1.015625F, 0x3F82}}, add_bf16);
}

TEST(PackKernels, RangeIsTheLeastAndTheLargest) {
  for (const std::size_t n : kLengths) {
    const Floats x = normals(n, 1);
    on_every_target([&] {
      const Range got = range_of(x);
      EXPECT_EQ(got.lo, n == 0 ? 0 : *std::min_element(x.begin(), x.end()));
      EXPECT_EQ(got.hi, n == 0 ? 0 : *std::max_element(x.begin(), x.end()));
    });
  }
}

TEST(PackKernels, StepsAreTheNearestOnes) {
  for (const std::size_t n : kLengths) {
    const Floats x = normals(n, 1);
    const Range range = range_of(x);
    const float middle = 0.5F * (range.lo + range.hi);
    const float step = n == 0 ? 1 : std::max((range.hi - range.lo) / 255, 1e-6F);
    Same<Bytes8> codes;
    Same<Floats> sums;
    on_every_target([&] {
      Bytes8 q(n);
      to_steps(x, middle, step, q);
      codes.expect(q);
      Floats y(n, 2);
      add_steps(q, middle, step, y);
      sums.expect(y);
      for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(y[i] - 2, x[i], 0.51F * step + 1e-6F) << i;
    });
  }
}

TEST(PackKernels, SignsAreBitsAndZeroIsPlus) {
  for (const std::size_t n : kLengths) {
    Floats x = normals(n, 1);
    for (std::size_t i = 0; i < n; i += 5) x[i] = 0;
    Bytes8 want(packed_bytes(n, 8));
    Floats want_y(n);
    for (std::size_t i = 0; i < n; ++i) {
      want[i / 8] = static_cast<std::uint8_t>(want[i / 8] | (x[i] < 0 ? 1U << (i % 8) : 0U));
      want_y[i] = 1 + (x[i] < 0 ? -0.25F : 0.25F);
    }
    on_every_target([&] {
      Bytes8 got(want.size(), 0xFF);
      to_signs(x, got);
      EXPECT_EQ(got, want) << n;
      Floats y(n, 1);
      add_signs(got, 0.25F, y);
      EXPECT_EQ(y, want_y) << n;
    });
  }
}

TEST(PackKernels, LevelsAreOneOfTheTwoNeighbours) {
  for (const auto& [count, per_byte] : {std::pair{1, 4}, {7, 2}, {127, 1}})
    for (const std::size_t n : kLengths) {
      const Floats x = normals(n, 1);
      float most = 1e-3F;
      for (const float v : x) most = std::max(most, std::abs(v));
      const Levels levels{count, per_byte, most / static_cast<float>(count)};
      Same<Bytes8> codes;
      on_every_target([&] {
        Bytes8 packed(packed_bytes(n, per_byte));
        to_levels(x, levels, {42, 5}, packed);
        codes.expect(packed);
        Floats y(n);
        add_levels(packed, levels, y);
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_LE(std::abs(y[i] - x[i]), 1.0001F * levels.size) << i;
          const float level = y[i] / levels.size;
          ASSERT_NEAR(level, std::round(level), 1e-4F) << i;
        }
      });
    }
}

TEST(PackKernels, LevelsLieInTheBytesAsDescribed) {
  // Exact levels leave nothing to chance: byte j has elements j, j + h, j + 2h, ... from the low bits up.
  const Floats x{-1, 0, 1, 1, 0, -1, 1};
  on_every_target([&] {
    Bytes8 packed(packed_bytes(x.size(), 4));
    to_levels(x, {1, 4, 1}, {1, 0}, packed);
    ASSERT_EQ(packed.size(), 2U);
    EXPECT_EQ(packed[0], 0 | 2 << 2 | 1 << 4 | 2 << 6);  // x_0, x_2, x_4, x_6
    EXPECT_EQ(packed[1] & 0x3F, 1 | 2 << 2 | 0 << 4);    // x_1, x_3, x_5
    Floats y(x.size());
    add_levels(packed, {1, 4, 1}, y);
    EXPECT_EQ(y, x);
  });
}

TEST(PackKernels, LevelsOfNoSizeAreAllZero) {
  on_every_target([] {
    Bytes8 packed(packed_bytes(19, 2));
    to_levels(normals(19, 1), {7, 2, 0}, {1, 0}, packed);
    Floats y(19, 3);
    add_levels(packed, {7, 2, 0}, y);
    EXPECT_EQ(y, Floats(19, 3));
  });
}

std::uint32_t magnitude(float x) { return std::bit_cast<std::uint32_t>(x) & kLargestMagnitude; }

TEST(SelectKernels, FindPositionsByMagnitude) {
  for (const std::size_t n : kLengths)
    for (const auto& [lo, hi] : {std::pair{0.5F, 1.0F}, {0.0F, 10.0F}, {5.0F, 1.0F}}) {
      Floats x = normals(n, 1);
      for (std::size_t i = 0; i < n; i += 4) x[i] = i % 8 == 0 ? 0.5F : -1.0F;  // both bounds belong to it
      std::vector<std::uint32_t> want;
      for (std::size_t i = 0; i < n; ++i)
        if (magnitude(x[i]) >= magnitude(lo) && magnitude(x[i]) <= magnitude(hi))
          want.push_back(static_cast<std::uint32_t>(i));
      on_every_target([&, first = lo, last = hi] {
        std::vector<std::uint32_t> got(n + kSlack);
        got.resize(find_between(x, magnitude(first), magnitude(last), got));
        EXPECT_EQ(got, want) << n;
      });
    }
}

TEST(SelectKernels, AddScaledSaysTheLargestMagnitude) {
  for (const std::size_t n : kLengths) {
    const Floats x = normals(n, 1);
    const Floats e = normals(n, 2);
    Floats want(n);
    float most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      want[i] = x[i] + 0.5F * e[i];
      most = std::max(most, std::abs(want[i]));
    }
    on_every_target([&] {
      Floats got(n);
      EXPECT_EQ(add_scaled(x, 0.5F, e, got), most) << n;
      EXPECT_EQ(got, want) << n;
      for (const std::size_t bad : {std::size_t{0}, n / 2, n - 1}) {
        if (bad >= n) continue;
        for (const float v :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
          Floats spoilt = x;
          spoilt[bad] = v;
          EXPECT_FALSE(std::isfinite(add_scaled(spoilt, 0.5F, e, got))) << n << " at " << bad;
        }
      }
    });
  }
}

TEST(SelectKernels, ClearWhereSomethingIs) {
  for (const std::size_t n : kLengths) {
    Floats x = normals(n, 1);
    for (std::size_t i = 0; i < n; i += 3) x[i] = i % 2 == 0 ? 0.0F : -0.0F;
    Floats want = normals(n, 2);
    const Floats before = want;
    for (std::size_t i = 0; i < n; ++i)
      if (x[i] != 0) want[i] = 0;
    on_every_target([&] {
      Floats y = before;
      clear_where(x, y);
      EXPECT_EQ(y, want) << n;
    });
  }
}

TEST(SelectKernels, RowsTimesAVector) {
  for (const std::size_t cols : kLengths) {
    constexpr std::size_t kRows = 5;
    const Floats a = normals(kRows * cols, 1);
    const Floats v = normals(cols, 2);
    Same<Floats> same;
    on_every_target([&] {
      Floats out(kRows, 9);
      rows_times(a, v, out);
      same.expect(out);
      for (std::size_t r = 0; r < kRows; ++r) {
        double want = 0;
        for (std::size_t c = 0; c < cols; ++c)
          want += static_cast<double>(a[r * cols + c]) * static_cast<double>(v[c]);
        EXPECT_NEAR(static_cast<double>(out[r]), want, 1e-4 * std::sqrt(static_cast<double>(cols + 1)));
      }
    });
  }
}

TEST(PackKernels, ViewsThatDoNotFitAreDefects) {
  Floats five(5);
  Bytes8 bytes(5);
  Halves halves(4);
  std::vector<std::uint32_t> positions(5);
  EXPECT_THROW(to_fp16(five, halves), Bug);
  EXPECT_THROW(add_bf16(halves, 1, five), Bug);
  EXPECT_THROW(to_signs(five, bytes), Bug);
  EXPECT_THROW(to_levels(five, {1, 4, 1}, {}, bytes), Bug);
  EXPECT_THROW(to_levels(five, {8, 2, 1}, {}, std::span(bytes).first(3)), Bug);  // 17 levels in four bits
  EXPECT_THROW(find_between(five, 0, 1, positions), Bug);                        // no slack
  EXPECT_THROW(clear_where(five, FloatView(five).first(4)), Bug);
}

}  // namespace
}  // namespace tacit::kernels
