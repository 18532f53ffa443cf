// SPDX-License-Identifier: MIT
#include "tacit/core/space.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/pack_kernels.h"
#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/core/state.h"

namespace tacit {
namespace {

using Floats = std::vector<float>;

constexpr std::size_t kMuch = std::size_t{1} << 40U;  // 4 TiB, which no machine has

Floats counted(std::size_t n) {
  Floats x(n);
  std::iota(x.begin(), x.end(), 1.0F);
  return x;
}

Floats copy_of(ConstFloatView x) {
  Floats out(x.size());
  copy(x, out);
  return out;
}

// What of a view compiles, beside tests/refusals, which says what does not.
static_assert(std::is_convertible_v<Floats&, FloatView> &&
              std::is_convertible_v<std::span<float>, FloatView>);
static_assert(std::is_convertible_v<std::array<float, 3>&, FloatView>);
static_assert(std::is_convertible_v<const Floats&, ConstFloatView>);
static_assert(std::is_convertible_v<FloatView, ConstFloatView>);
static_assert(!std::is_constructible_v<FloatView, ConstFloatView>);
static_assert(!std::is_constructible_v<FloatView, const Floats&>);
static_assert(!std::is_constructible_v<FloatView, Floats>, "it would outlive what it views");
static_assert(!std::is_constructible_v<FloatView, std::vector<double>&>);
static_assert(std::is_trivially_copyable_v<FloatView> && std::is_trivially_copyable_v<ConstFloatView>);

TEST(FloatView, IsCutAsASpanIs) {
  Floats x = counted(10);
  const FloatView all = x;
  EXPECT_EQ(all.size(), 10U);
  EXPECT_EQ(all.size_bytes(), 40U);
  EXPECT_EQ(copy_of(all.first(2)), (Floats{1, 2}));
  EXPECT_EQ(copy_of(all.last(2)), (Floats{9, 10}));
  EXPECT_EQ(copy_of(all.subspan(7)), (Floats{8, 9, 10}));
  EXPECT_EQ(copy_of(part(all, {3, 2})), (Floats{4, 5}));
  EXPECT_TRUE(FloatView().empty());
}

TEST(FloatView, IsAnotherOneOfTheSameMemoryAndLengthAlone) {
  Floats x = counted(10);
  const Floats equal = x;
  const FloatView all = x;
  EXPECT_TRUE(all.is(x));
  EXPECT_TRUE(ConstFloatView(all).is(all));
  EXPECT_FALSE(all.is(equal));
  EXPECT_FALSE(all.is(all.first(9)));
  EXPECT_FALSE(all.last(9).is(all.first(9)));
}

TEST(HostSpace, HasTheVectorsThatTheHostLooksInto) {
  Floats x = counted(3);
  const FloatView view = x;
  EXPECT_EQ(&view.space(), &host_space());
  EXPECT_EQ(view.host().data(), x.data());
  EXPECT_EQ(bytes_of(view).data(), reinterpret_cast<std::byte*>(x.data()));
  EXPECT_TRUE(has_content(bytes_of(view)));
  EXPECT_TRUE(has_content(ConstBytes()));
  EXPECT_TRUE(floats_in(bytes_of(view)).is(view));
}

TEST(HostSpace, GivesZerosThatEndWithTheirBlock) {
  Block block = host_space().allocate(5);
  EXPECT_EQ(copy_of(block.view()), Floats(5));
  block.view().host()[4] = 7;
  const Block moved = std::move(block);
  EXPECT_TRUE(block.view().empty());  // NOLINT(bugprone-use-after-move): which is what is asked
  EXPECT_EQ(moved.view().host()[4], 7);
  EXPECT_TRUE(host_space().allocate(0).view().empty());
}

TEST(HostSpace, BeginsVectorsAtACacheLineAndLongOnesAtALargePage) {
  for (const std::size_t n : {1, 3, 100, 100'000, 524'287, 524'288, 3'000'000}) {
    const Block block = host_space().allocate(n);
    const auto at = reinterpret_cast<std::uintptr_t>(block.view().host().data());
    EXPECT_EQ(at % (n < 524'288 ? 64U : std::uintptr_t{2} << 20U), 0U) << n;
  }
  EXPECT_THROW(host_space().allocate(std::size_t{1} << 62U), std::bad_alloc);
}

// As much of one as views need.
class OtherSpace final : public Space {
 public:
  std::string_view name() const override { return "other"; }
  Block allocate(std::size_t) override { return {}; }
  const Kernels& kernels() const override { return host_space().kernels(); }
  void copy(ConstFloatView, FloatView) override {}
  void wait() override {}
  Bytes wire(FloatView) override { return {}; }
  FloatView seen(std::span<float> x) const { return view(x); }

 private:
  void release(FloatView) noexcept override {}
};

TEST(Space, IsFoundByItsViewsWhateverWasThereBefore) {
  Floats x = counted(3);
  for (int i = 0; i < 1000; ++i) {  // more than there are numbers
    const OtherSpace one;
    const OtherSpace other;
    EXPECT_EQ(&one.seen(x).space(), &one);
    EXPECT_EQ(&part(other.seen(x), {1, 2}).space(), &other);
    EXPECT_EQ(one.seen(x).size(), 3U);
    EXPECT_FALSE(one.seen(x).beside(other.seen(x)));
    EXPECT_FALSE(one.seen(x).is(FloatView(x)));
    EXPECT_THROW(one.seen(x).host(), Bug);
  }
}

TEST(PhantomSpace, HasVectorsThatCostAddressesAlone) {
  const Block one = phantom_space().allocate(kMuch);
  const Block other = phantom_space().allocate(kMuch);
  EXPECT_EQ(one.view().size(), kMuch);
  EXPECT_EQ(&one.view().space(), &phantom_space());
  EXPECT_EQ(&part(one.view(), {5, 6}).space(), &phantom_space());
  EXPECT_FALSE(one.view().is(other.view()));
  EXPECT_TRUE(one.view().first(9).is(one.view().first(9)));
  EXPECT_THROW(phantom_space().allocate(std::size_t{1} << 61U), InvalidConfig);
}

TEST(PhantomSpace, LetsNobodyLookInside) {
  const Block block = phantom_space().allocate(10);
  try {
    block.view().host();
    FAIL() << "a vector without content was read";
  } catch (const Bug& bug) {
    EXPECT_NE(std::string(bug.what()).find("'phantom'"), std::string::npos) << bug.what();
  }
}

TEST(PhantomSpace, GoesThroughMessagesAsItself) {
  const Block block = phantom_space().allocate(kMuch);
  const ConstBytes message = bytes_of(ConstFloatView(block.view()));
  EXPECT_EQ(message.size(), kMuch * sizeof(float));
  EXPECT_FALSE(has_content(message));
  EXPECT_FALSE(has_content(message.last(1)));
  EXPECT_TRUE(floats_in(message).is(block.view()));
}

TEST(PhantomSpace, IsCopiedWithoutEffect) {
  const Block block = phantom_space().allocate(3);
  Floats x = counted(3);
  copy(x, block.view());
  copy(block.view(), block.view());
  copy(block.view(), x);
  copy(bytes_of(ConstFloatView(block.view())), bytes_of(FloatView(x)));
  copy(bytes_of(ConstFloatView(x)), bytes_of(block.view()));
  kernels::stream_copy(bytes_of(ConstFloatView(block.view())), bytes_of(FloatView(x)));
  EXPECT_EQ(x, counted(3));
}

TEST(PhantomSpace, HasKernelsThatDoNothingAndFindNothing) {
  const Block a = phantom_space().allocate(kMuch);
  const Block b = phantom_space().allocate(kMuch);
  const FloatView x = a.view();
  const FloatView y = b.view();
  const ConstFloatView all[] = {x, y};
  kernels::fill(1, y);
  kernels::add(x, y);
  kernels::subtract(x, y);
  kernels::sum(x, x, y);
  kernels::difference(x, x, y);
  kernels::scale(2, y);
  kernels::multiply(x, y);
  kernels::axpy(2, x, y);
  kernels::axpby(2, x, 3, y);
  kernels::average(x, y);
  kernels::sum_all(all, 0.5F, y);
  kernels::sgd_step({.lr = 1}, x, {}, y);
  kernels::sgd_step({.lr = 1, .momentum = 0.9F}, x, x, y);
  kernels::adam_step({}, x, x, x, y);
  kernels::clear_where(x, y);
  EXPECT_EQ(kernels::add_scaled(x, 1, x, y), 0);
  EXPECT_EQ(kernels::dot(x, y), 0);
  EXPECT_EQ(kernels::sum_of(x), 0);
  EXPECT_EQ(kernels::norm1(x), 0);
  EXPECT_EQ(kernels::norm2(x), 0);
  EXPECT_EQ(kernels::distance2(x, y), 0);
  EXPECT_EQ(kernels::max_abs(x), 0);
  EXPECT_TRUE(kernels::all_finite(x));
  EXPECT_EQ(kernels::range_of(x).hi, 0);
}

TEST(PhantomSpace, IsPackedAndUnpackedWithoutEffect) {
  const Block block = phantom_space().allocate(64);
  const FloatView x = block.view();
  std::vector<std::uint16_t> halves(64, 7);
  std::vector<std::uint8_t> codes(64, 7);
  std::vector<std::uint32_t> found(64 + kernels::kSlack);
  kernels::to_fp16(x, halves);
  kernels::to_bf16(x, halves);
  kernels::to_steps(x, 0, 1, codes);
  kernels::to_signs(x, std::span(codes).first(8));
  kernels::to_levels(x, {}, {}, std::span(codes).first(16));
  EXPECT_EQ(halves, std::vector<std::uint16_t>(64, 7));
  EXPECT_EQ(codes, std::vector<std::uint8_t>(64, 7));
  kernels::add_fp16(halves, 1, x);
  kernels::add_bf16(halves, 1, x);
  kernels::add_steps(codes, 0, 1, x);
  kernels::add_signs(std::span(codes).first(8), 1, x);
  kernels::add_levels(std::span(codes).first(16), {}, x);
  kernels::rows_times(x, x.first(8), x.first(8));
  EXPECT_EQ(kernels::find_between(x, 0, kernels::kLargestMagnitude, found), 0U);
}

TEST(Kernels, RefuseViewsOfTwoSpacesAndSayWhich) {
  const Block block = phantom_space().allocate(3);
  Floats x = counted(3);
  try {
    kernels::axpy(1, x, block.view());
    FAIL() << "views of two spaces were taken for one";
  } catch (const Bug& bug) {
    EXPECT_NE(std::string(bug.what()).find("'phantom' and 'host'"), std::string::npos) << bug.what();
  }
  EXPECT_THROW(kernels::dot(x, block.view()), Bug);
  EXPECT_THROW(kernels::add_scaled(block.view(), 1, x, x), Bug);
  const ConstFloatView all[] = {x, block.view()};
  EXPECT_THROW(kernels::sum_all(all, 1, x), Bug);
}

TEST(Kernels, FillEveryElement) {
  for (const std::size_t n : {0U, 1U, 7U, 100U}) {
    Floats y(n + 1, 5);
    kernels::fill(2.5F, FloatView(y).first(n));
    EXPECT_EQ(copy_of(FloatView(y).first(n)), Floats(n, 2.5F));
    EXPECT_EQ(y[n], 5);
  }
}

// In float, where the order of additions shows.
TEST(Kernels, SumAllAddsInOrderWhereverTheResultLies) {
  constexpr std::size_t kLong = 10'000;  // more than one block
  for (const std::size_t n : {std::size_t{1}, std::size_t{5}, kLong}) {
    for (std::size_t vectors = 1; vectors <= 5; ++vectors) {
      std::vector<Floats> x(vectors, Floats(n));
      for (std::size_t v = 0; v < vectors; ++v)
        for (std::size_t i = 0; i < n; ++i)
          x[v][i] = std::ldexp(1.0F / static_cast<float>(3 + v + i % 7), static_cast<int>(v * 9 % 23));
      Floats want = x[0];
      for (std::size_t v = 1; v < vectors; ++v)
        for (std::size_t i = 0; i < n; ++i) want[i] += x[v][i];
      for (float& w : want) w *= 0.7F;
      for (std::size_t own = 0; own <= vectors; ++own) {  // the last: beside all of them
        std::vector<Floats> in = x;
        Floats beside(n);
        Floats& out = own < vectors ? in[own] : beside;
        const std::vector<ConstFloatView> all(in.begin(), in.end());
        kernels::sum_all(all, 0.7F, out);
        EXPECT_EQ(out, want) << vectors << " vectors of " << n << ", the result at " << own;
      }
    }
  }
}

TEST(Buffer, LiesInTheSpaceOfWhatItIsMatchedWith) {
  const Floats x = counted(3);
  Buffer buffer(x);
  EXPECT_EQ(copy_of(buffer.view()), Floats(3));
  buffer.take(x);
  EXPECT_FALSE(buffer.view().is(x));
  EXPECT_EQ(copy_of(buffer.view()), x);
  const Block much = phantom_space().allocate(kMuch);
  buffer.assign(much.view());
  EXPECT_EQ(buffer.view().size(), kMuch);
  EXPECT_TRUE(buffer.view().beside(much.view()));
  buffer.assign(x);
  EXPECT_EQ(copy_of(buffer.view()), x);
}

TEST(Buffer, KeepsItsMemoryWhereWhatItHoldsStaysAsLong) {
  const Floats x = counted(3);
  Buffer buffer(x);
  const FloatView before = buffer.view();
  buffer.assign(x);
  EXPECT_TRUE(buffer.view().is(before));
  EXPECT_TRUE(buffer.room(2, x).is(before.first(2)));
  EXPECT_EQ(buffer.room(9, x).size(), 9U);
}

TEST(State, OfVectorsElsewhereIsStagedOnTheHost) {
  const Block block = phantom_space().allocate(4);
  StateWriter writer;
  writer.write("x", ConstFloatView(block.view()));
  StateReader reader(writer.bytes());
  EXPECT_EQ(reader.floats("x"), Floats(4));
  StateReader again(writer.bytes());
  again.read("x", block.view());
  EXPECT_TRUE(again.at_end());
}

}  // namespace
}  // namespace tacit
