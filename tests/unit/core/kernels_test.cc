// SPDX-License-Identifier: MIT
#include "tacit/core/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "support/simd_targets.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit::kernels {
namespace {

using Floats = std::vector<float>;
using test::on_every_target;

constexpr std::size_t kLengths[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 63, 64, 65, 1000, 100003};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Floats normals(std::size_t n, std::int64_t which) {
  Rng rng(7, 0, which, Rng::Use::kData);
  Floats x(n);
  for (float& v : x) v = rng.normal();
  return x;
}

Floats magnitudes(Floats x) {
  for (float& v : x) v = std::abs(v);
  return x;
}

std::vector<std::uint32_t> bits(ConstFloatView x) {
  std::vector<std::uint32_t> out;
  for (const float v : x.host()) out.push_back(std::bit_cast<std::uint32_t>(v));
  return out;
}

// y <- kernel(x, y) against y_i <- reference(x_i, y_i), bit for bit, for all lengths and targets.
void expect_map(const std::function<void(ConstFloatView, FloatView)>& kernel,
                const std::function<float(float, float)>& reference) {
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(n);
    const Floats x = normals(n, 1);
    const Floats y = normals(n, 2);
    Floats want(n);
    for (std::size_t i = 0; i < n; ++i) want[i] = reference(x[i], y[i]);
    on_every_target([&] {
      Floats got = y;
      kernel(x, got);
      EXPECT_EQ(bits(got), bits(want));
    });
  }
}

// A reduction against the sum of the terms in long double. The error is at most `bound` times the sum of the
// magnitudes of the terms: 32 additions and two roundings per term in float, 34 2^-24 = 2.03e-6.
void expect_sum(const std::function<double(ConstFloatView, ConstFloatView)>& kernel,
                const std::function<long double(long double, long double)>& term) {
  constexpr double kBound = 2.1e-6;
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(n);
    const Floats x = normals(n, 3);
    const Floats y = normals(n, 4);
    long double want = 0;
    long double size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      want += term(x[i], y[i]);
      size += std::abs(term(x[i], y[i]));
    }
    const double first = kernel(x, y);
    EXPECT_NEAR(first, static_cast<double>(want), kBound * static_cast<double>(size));
    on_every_target(
        [&] { EXPECT_EQ(std::bit_cast<std::uint64_t>(kernel(x, y)), std::bit_cast<std::uint64_t>(first)); });
  }
}

TEST(Kernels, RunOnMoreThanOneTarget) {
  const auto targets = hwy::SupportedAndGeneratedTargets();
  if (targets.size() < 2) GTEST_SKIP() << "this CPU and build have a single SIMD target";
  for (const std::int64_t target : targets) EXPECT_STRNE(hwy::TargetName(target), "Unknown");
}

TEST(Kernels, Add) { expect_map(add, std::plus<float>()); }

TEST(Kernels, Subtract) {
  expect_map(subtract, [](float x, float y) { return y - x; });
}

TEST(Kernels, Sum) {
  expect_map([](ConstFloatView x, FloatView y) { sum(x, y, y); }, std::plus<float>());
  expect_map(
      [](ConstFloatView x, FloatView y) {
        Floats out(y.size(), kNan);
        sum(x, y, out);
        copy(out, y);
      },
      std::plus<float>());
}

TEST(Kernels, Difference) {
  expect_map([](ConstFloatView x, FloatView y) { difference(x, y, y); }, std::minus<float>());
}

TEST(Kernels, Scale) {
  expect_map([](ConstFloatView, FloatView y) { scale(0.3F, y); }, [](float, float y) { return 0.3F * y; });
}

TEST(Kernels, Multiply) { expect_map(multiply, std::multiplies<float>()); }

TEST(Kernels, Axpy) {
  expect_map([](ConstFloatView x, FloatView y) { axpy(-0.7F, x, y); },
             [](float x, float y) { return y + -0.7F * x; });
}

TEST(Kernels, Axpby) {
  expect_map([](ConstFloatView x, FloatView y) { axpby(0.3F, x, 0.7F, y); },
             [](float x, float y) { return 0.3F * x + 0.7F * y; });
}

TEST(Kernels, Average) {
  expect_map(average, [](float x, float y) { return (x + y) / 2; });
}

TEST(Kernels, Dot) {
  expect_sum(dot, [](long double x, long double y) { return x * y; });
}

TEST(Kernels, SumOf) {
  expect_sum([](ConstFloatView x, ConstFloatView) { return sum_of(x); },
             [](long double x, long double) { return x; });
}

TEST(Kernels, Norm1) {
  expect_sum([](ConstFloatView x, ConstFloatView) { return norm1(x); },
             [](long double x, long double) { return std::abs(x); });
}

// The kernel's root is squared again, so that the sums can be compared.
TEST(Kernels, Norm2) {
  expect_sum([](ConstFloatView x, ConstFloatView) { return std::pow(norm2(x), 2); },
             [](long double x, long double) { return x * x; });
}

TEST(Kernels, Distance2) {
  expect_sum([](ConstFloatView x, ConstFloatView y) { return std::pow(distance2(x, y), 2); },
             [](long double x, long double y) { return (x - y) * (x - y); });
}

TEST(Kernels, LongSumsStayAccurate) {
  const Floats x(3'000'000, 0.1F);
  EXPECT_NEAR(sum_of(x) / (3e6 * static_cast<double>(0.1F)), 1, 1e-6);
  EXPECT_NEAR(dot(x, x) / (3e6 * std::pow(static_cast<double>(0.1F), 2)), 1, 1e-6);
}

TEST(Kernels, MaxAbs) {
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(n);
    const Floats x = normals(n, 5);
    float want = 0;
    for (const float v : x) want = std::max(want, std::abs(v));
    on_every_target([&] { EXPECT_EQ(max_abs(x), want); });
  }
}

TEST(Kernels, FindWhatIsNotFiniteAnywhere) {
  for (const std::size_t n : kLengths) {
    if (n == 0) continue;
    SCOPED_TRACE(n);
    Floats x = normals(n, 6);
    on_every_target([&] {
      EXPECT_TRUE(all_finite(x));
      for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
        const float kept = x[at];
        for (const float bad : {kNan, -kNan, kInf, -kInf}) {
          x[at] = bad;
          EXPECT_FALSE(all_finite(x)) << at;
          EXPECT_EQ(std::isnan(max_abs(x)), std::isnan(bad)) << at;
          EXPECT_EQ(std::isinf(max_abs(x)), std::isinf(bad)) << at;
        }
        x[at] = kept;
      }
    });
  }
}

TEST(Kernels, NanWinsOverInfinity) {
  Floats x(100, kInf);
  x[40] = kNan;
  on_every_target([&] { EXPECT_TRUE(std::isnan(max_abs(x))); });
}

TEST(Kernels, NothingIsZeroAndFinite) {
  on_every_target([] {
    EXPECT_EQ(sum_of({}), 0);
    EXPECT_EQ(norm2({}), 0);
    EXPECT_EQ(max_abs({}), 0);
    EXPECT_TRUE(all_finite({}));
  });
}

TEST(Kernels, SgdWithoutMomentum) {
  const SgdStep s{.lr = 0.1F, .momentum = 0, .weight_decay = 0.01F};
  expect_map([&](ConstFloatView g, FloatView x) { sgd_step(s, g, {}, x); },
             [&](float g, float x) { return x - s.lr * (g + s.weight_decay * x); });
}

void expect_momentum(bool nesterov) {
  const SgdStep s{.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .nesterov = nesterov};
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(n);
    const Floats g = normals(n, 7);
    const Floats v = normals(n, 8);
    const Floats x = normals(n, 9);
    Floats want_v(n);
    Floats want_x(n);
    for (std::size_t i = 0; i < n; ++i) {
      const float d = g[i] + s.weight_decay * x[i];
      want_v[i] = s.momentum * v[i] + d;
      want_x[i] = x[i] - s.lr * (nesterov ? d + s.momentum * want_v[i] : want_v[i]);
    }
    on_every_target([&] {
      Floats got_v = v;
      Floats got_x = x;
      sgd_step(s, g, got_v, got_x);
      EXPECT_EQ(bits(got_v), bits(want_v));
      EXPECT_EQ(bits(got_x), bits(want_x));
    });
  }
}

TEST(Kernels, SgdWithMomentum) { expect_momentum(false); }

TEST(Kernels, SgdWithNesterov) { expect_momentum(true); }

TEST(Kernels, Adam) {
  AdamStep s{.step_size = 0.01F, .root_correction = 0.3F};
  s.weight_decay = 0.02F;
  s.decay = 0.99F;
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(n);
    const Floats g = normals(n, 10);
    Floats want_m = normals(n, 11);
    Floats want_v = magnitudes(normals(n, 12));
    Floats want_x = normals(n, 13);
    const Floats m = want_m;
    const Floats v = want_v;
    const Floats x = want_x;
    for (std::size_t i = 0; i < n; ++i) {
      const float d = g[i] + s.weight_decay * x[i];
      want_m[i] = s.beta1 * m[i] + (1 - s.beta1) * d;
      want_v[i] = s.beta2 * v[i] + (1 - s.beta2) * (d * d);
      const float root = std::sqrt(want_v[i]) / s.root_correction + s.epsilon;
      want_x[i] = s.decay * x[i] - s.step_size * want_m[i] / root;
    }
    on_every_target([&] {
      Floats got_m = m;
      Floats got_v = v;
      Floats got_x = x;
      adam_step(s, g, got_m, got_v, got_x);
      EXPECT_EQ(bits(got_m), bits(want_m));
      EXPECT_EQ(bits(got_v), bits(want_v));
      EXPECT_EQ(bits(got_x), bits(want_x));
    });
  }
}

TEST(Kernels, TakeEqualViews) {
  const Floats x = normals(1000, 14);
  Floats twice = x;
  scale(2, twice);
  on_every_target([&] {
    Floats y = x;
    add(y, y);
    EXPECT_EQ(y, twice);
    y = x;
    sum(y, y, y);
    EXPECT_EQ(y, twice);
    y = x;
    axpy(1, y, y);
    EXPECT_EQ(y, twice);
    y = x;
    average(y, y);
    EXPECT_EQ(y, x);
    subtract(y, y);
    EXPECT_EQ(y, Floats(1000));
    EXPECT_EQ(distance2(x, x), 0);
  });
}

// An element's result must not depend on where a slice begins.
TEST(Kernels, DoNotDependOnAlignment) {
  const Floats x = normals(1000, 15);
  Floats whole(1000, 1.0F);
  axpy(0.3F, x, whole);
  for (std::size_t offset = 1; offset < 20; ++offset) {
    Floats pieces(1000, 1.0F);
    axpy(0.3F, part(ConstFloatView(x), {0, offset}), part(FloatView(pieces), {0, offset}));
    axpy(0.3F, part(ConstFloatView(x), {offset, 1000 - offset}),
         part(FloatView(pieces), {offset, 1000 - offset}));
    EXPECT_EQ(bits(pieces), bits(whole)) << offset;
  }
}

TEST(Kernels, RefuseSizesThatDiffer) {
  Floats three(3);
  Floats four(4);
  EXPECT_THROW(add(three, four), Bug);
  EXPECT_THROW(subtract(three, four), Bug);
  EXPECT_THROW(sum(three, three, four), Bug);
  EXPECT_THROW(sum(three, four, three), Bug);
  EXPECT_THROW(difference(three, three, four), Bug);
  EXPECT_THROW(difference(three, four, three), Bug);
  EXPECT_THROW(axpy(1, three, four), Bug);
  EXPECT_THROW(axpby(1, three, 1, four), Bug);
  EXPECT_THROW(average(three, four), Bug);
  EXPECT_THROW(dot(three, four), Bug);
  EXPECT_THROW(distance2(three, four), Bug);
}

TEST(Kernels, RefuseStateOfAnotherSize) {
  Floats three(3);
  Floats four(4);
  EXPECT_THROW(sgd_step({}, three, {}, four), Bug);
  EXPECT_THROW(sgd_step({}, three, three, three), Bug) << "velocity without momentum";
  EXPECT_THROW(sgd_step({.momentum = 0.9F}, three, {}, three), Bug);
  EXPECT_THROW(adam_step({}, four, three, three, three), Bug);
  EXPECT_THROW(adam_step({}, three, four, three, three), Bug);
  EXPECT_THROW(adam_step({}, three, three, four, three), Bug);
}

TEST(Kernels, StreamCopyMovesEveryByteAtEveryAlignment) {
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 100'003U})
    for (const std::size_t shift : {0U, 1U, 4U, 33U}) {
      std::vector<std::byte> from(size + shift);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
      std::vector<std::byte> to(size + 2 * shift + 1, std::byte{0xEE});
      stream_copy(ConstBytes(from).subspan(shift), Bytes(to).subspan(2 * shift, size));
      EXPECT_TRUE(std::equal(from.begin() + static_cast<std::ptrdiff_t>(shift), from.end(),
                             to.begin() + static_cast<std::ptrdiff_t>(2 * shift)));
      EXPECT_EQ(to.back(), std::byte{0xEE});
    }
}

}  // namespace
}  // namespace tacit::kernels
