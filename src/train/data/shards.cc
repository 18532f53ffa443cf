// SPDX-License-Identifier: MIT
#include "train/data/shards.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "tacit/core/error.h"
#include "tacit/core/rng.h"
#include "tacit/core/text.h"
#include "train/data/dirichlet.h"
#include "train/data/shuffle.h"

namespace tacit {
namespace {

constexpr double kLeastAlpha = 1e-6;
constexpr double kMostAlpha = 1e6;
constexpr int kDraws = 100;  // of Dirichlet shares, until nobody is left without a sample

// Random draws are made once, before the first epoch.
enum class Before : std::int64_t { kOrder = -1, kClasses = -2, kShares = -3 };
Rng draws(std::uint64_t seed, Before what) {
  return {seed, Rng::kEveryRank, static_cast<std::int64_t>(what), Rng::Use::kShuffle};
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(const Sharding& how, const std::string& why) {
  throw InvalidConfig("--shards " + how.text + why);
}

void read_classes(std::string_view value, Sharding& how) {
  how.classes = number_in<std::int64_t>(value).value_or(0);
  if (how.classes < 1)
    refuse(how, " is no number of classes for a worker; give 1 or more, such as classes:2");
}

void read_alpha(std::string_view value, Sharding& how) {
  how.alpha = number_in<double>(value).value_or(0);
  if (!(how.alpha >= kLeastAlpha && how.alpha <= kMostAlpha))
    refuse(how, " has no ALPHA from 0.000001 to 1000000; give one, such as dirichlet:0.1");
}

// The samples of each class that there is, in random order.
using Classes = std::vector<std::vector<std::uint32_t>>;
Classes classes_of(std::span<const std::uint32_t> labels, std::uint64_t seed) {
  Classes all;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= all.size()) all.resize(std::size_t{labels[i]} + 1);
    all[labels[i]].push_back(static_cast<std::uint32_t>(i));
  }
  std::erase_if(all, [](const auto& samples) { return samples.empty(); });
  Rng rng = draws(seed, Before::kOrder);
  for (auto& samples : all) shuffle(samples, rng);
  return all;
}

// How many samples of a class each rank gets; by class.
using Counts = std::vector<std::vector<std::size_t>>;

std::optional<std::size_t> rank_without_samples(const Counts& counts) {
  for (std::size_t rank = 0; rank < counts.front().size(); ++rank)
    if (std::all_of(counts.begin(), counts.end(), [&](const auto& of_class) { return of_class[rank] == 0; }))
      return rank;
  return std::nullopt;
}

// The ranks that hold each class: one rank after the other takes those that the fewest hold so far, by lot among equals.
// So each has as many as it should, and no class has two holders more than another.
std::vector<std::vector<std::size_t>> holders_of(std::size_t classes, std::size_t each, std::size_t ranks,
                                                 std::uint64_t seed) {
  std::vector<std::vector<std::size_t>> holders(classes);
  std::vector<std::size_t> order(classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng rng = draws(seed, Before::kClasses);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    shuffle(order, rng);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return holders[a].size() < holders[b].size(); });
    for (std::size_t i = 0; i < each; ++i) holders[order[i]].push_back(rank);
  }
  return holders;
}

Counts counts_of_few_classes(const Sharding& how, const Classes& classes, std::size_t ranks,
                             std::uint64_t seed) {
  const std::string there = std::to_string(classes.size()) + " classes";
  if (static_cast<std::uint64_t>(how.classes) > classes.size())
    refuse(how, " is more than the data have, which is " + there + "; give that or fewer");
  const auto each = static_cast<std::size_t>(how.classes);
  if (each * ranks < classes.size())
    refuse(how, " leaves classes to nobody: " + std::to_string(ranks) + " workers hold " +
                    std::to_string(each * ranks) + " and the data have " + there + "; give classes:" +
                    std::to_string((classes.size() + ranks - 1) / ranks) + " or more, or more workers");
  auto holders = holders_of(classes.size(), each, ranks, seed);
  Rng rng = draws(seed, Before::kShares);
  Counts counts(classes.size(), std::vector<std::size_t>(ranks));
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::size_t all = classes[c].size();
    const std::size_t shares = holders[c].size();
    if (all < shares) shuffle(holders[c], rng);  // or the same ranks would go away empty from each class
    for (std::size_t i = 0; i < shares; ++i)
      counts[c][holders[c][i]] = all * (i + 1) / shares - all * i / shares;
  }
  if (const auto rank = rank_without_samples(counts))
    refuse(how, " leaves rank " + std::to_string(*rank) + " of " + std::to_string(ranks) +
                    " without a sample; use fewer workers or more samples");
  return counts;
}

Counts counts_by_dirichlet(const Sharding& how, const Classes& classes, std::size_t ranks,
                           std::uint64_t seed) {
  Rng rng = draws(seed, Before::kShares);
  for (int draw = 0; draw < kDraws; ++draw) {
    Counts counts;
    for (const auto& samples : classes) {
      counts.push_back(draw_counts(rng, how.alpha, static_cast<int>(ranks), samples.size()));
      if (samples.size() < ranks) shuffle(counts.back(), rng);  // as above: cuts are rounded alike
    }
    if (!rank_without_samples(counts)) return counts;
  }
  refuse(how, " left one of " + std::to_string(ranks) + " workers without a sample in each of " +
                  std::to_string(kDraws) + " draws; give a larger ALPHA, or use fewer workers");
}

}  // namespace

const Registry<ShardingInfo>& builtin_shardings() {
  static const Registry<ShardingInfo> all(
      "kind of shards", {
                            {"iid",
                             "each batch is drawn from all samples, so that all workers see the same",
                             "no paper",
                             "iid",
                             {},
                             Sharding::Kind::kIid},
                            {"classes",
                             "each worker has samples of K classes alone",
                             "arXiv:1602.05629",
                             "classes:2",
                             {{"K", "", "1 to the number of classes", "classes of each worker"}},
                             Sharding::Kind::kClasses},
                            {"dirichlet",
                             "workers' shares of each class are drawn from a Dirichlet distribution",
                             "arXiv:1909.06335",
                             "dirichlet:0.1",
                             {{"ALPHA", "", "0.000001 to 1000000",
                               "the smaller, the more unlike: 100 is nearly iid; at 0.01 nearly every class "
                               "lies with one worker"}},
                             Sharding::Kind::kDirichlet},
                        });
  return all;
}

Sharding Sharding::parse(std::string_view text) {
  Sharding how{std::string(text), builtin_shardings().find(text).kind};
  const auto colon = text.find(':');
  const std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (how.kind == Kind::kClasses) read_classes(value, how);
  if (how.kind == Kind::kDirichlet) read_alpha(value, how);
  if (how.iid() && colon != std::string_view::npos)
    refuse(how, " has a value, and iid takes none; write iid");
  return how;
}

std::vector<Shard> deal_samples(const Sharding& how, std::span<const std::uint32_t> labels, int ranks,
                                std::uint64_t seed) {
  TACIT_CHECK(!how.iid() && ranks >= 1 && !labels.empty(), "nothing is dealt out");
  const Classes classes = classes_of(labels, seed);
  const auto many = static_cast<std::size_t>(ranks);
  const Counts counts = how.kind == Sharding::Kind::kClasses ? counts_of_few_classes(how, classes, many, seed)
                                                             : counts_by_dirichlet(how, classes, many, seed);
  std::vector<Shard> shards(many);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    std::span<const std::uint32_t> left(classes[c]);
    for (std::size_t rank = 0; rank < many; ++rank) {
      const auto taken = left.first(counts[c][rank]);
      shards[rank].insert(shards[rank].end(), taken.begin(), taken.end());
      left = left.subspan(taken.size());
    }
  }
  for (Shard& each : shards) std::sort(each.begin(), each.end());
  return shards;
}

ShardSpread spread_of(std::span<const Shard> shards, std::span<const std::uint32_t> labels) {
  ShardSpread spread;
  const std::size_t classes = std::size_t{*std::max_element(labels.begin(), labels.end())} + 1;
  double shares = 0;
  for (const Shard& each : shards) {
    std::vector<std::size_t> counts(classes);
    for (const std::uint32_t sample : each) ++counts[labels[sample]];
    const auto size = static_cast<std::int64_t>(each.size());
    spread.smallest = &each == shards.data() ? size : std::min(spread.smallest, size);
    spread.largest = std::max(spread.largest, size);
    shares +=
        static_cast<double>(*std::max_element(counts.begin(), counts.end())) / static_cast<double>(size);
  }
  spread.largest_class = shares / static_cast<double>(shards.size());
  return spread;
}

ShardSampler::ShardSampler(Shard samples, std::size_t batch, const Place& place)
    : samples_(std::move(samples)), place_(place), batch_(batch) {
  TACIT_CHECK(!samples_.empty() && batch > 0, "a shard has samples, and a batch too");
}

std::span<const std::uint32_t> ShardSampler::indices(std::int64_t step) {
  TACIT_CHECK(step >= 0, "steps count from 0");
  const auto size = static_cast<std::int64_t>(samples_.size());
  std::int64_t at = step * static_cast<std::int64_t>(batch_.size());
  for (std::uint32_t& each : batch_) {
    take_order_of(at / size);
    each = order_[static_cast<std::size_t>(at % size)];
    ++at;
  }
  return batch_;
}

Wanted ShardSampler::wanted(std::int64_t step) {
  const std::int64_t begin = step * static_cast<std::int64_t>(batch_.size());
  return {indices(step), begin / static_cast<std::int64_t>(samples_.size()), place_.seed};
}

// From the same order each time: a resumed run must see what a run sees that never stopped.
void ShardSampler::take_order_of(std::int64_t pass) {
  if (pass == pass_) return;
  order_ = samples_;
  Rng rng(place_.seed, place_.rank, pass, Rng::Use::kShuffle);
  shuffle(order_, rng);
  pass_ = pass;
}

}  // namespace tacit
