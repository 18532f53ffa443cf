// SPDX-License-Identifier: MIT
#include "train/readiness.h"

#include <algorithm>
#include <utility>

#include "core/byte_size.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

// Smaller buckets cost more in rounds than they hide, and beyond this many the last one, which nothing hides, is small
// enough (docs/benchmarks.md).
constexpr std::size_t kLeastBytes = std::size_t{256} * 1024;
constexpr std::size_t kMostBuckets = 8;
// Cuts lie on cache lines.
constexpr std::size_t kLeastGiven = kChunkUnit * sizeof(float);
constexpr double kForward = 1.0 / 3;

}  // namespace

std::size_t bucket_floats(std::string_view what, const std::string& text, std::size_t parameters) {
  if (text == "whole") return std::max<std::size_t>(1, parameters);
  if (text == "auto") return std::max(kLeastBytes / sizeof(float), parameters / kMostBuckets);
  const auto refuse = [&](const std::string& why) {
    throw InvalidConfig(
        std::string(what) + " " + text + " " + why +
        "; give a size such as 256KiB, auto, or whole, with which the gradient is sent in one "
        "piece when all of it is computed");
  };
  if (text.empty() || text.find_first_not_of("0123456789") == 0) refuse("is no size of a bucket");
  if (text.find_first_not_of('0') == std::string::npos) refuse("leaves nothing in a bucket");
  const std::size_t bytes = parse_byte_size(what, text);
  if (bytes < kLeastGiven)
    refuse("is less than the " + std::to_string(kLeastGiven) + " bytes that a bucket has");
  return bytes / sizeof(float);
}

std::size_t bucket_floats(std::string_view what, const std::string& text, std::size_t parameters,
                          const StrategyInfo& strategy, bool pays) {
  const std::size_t floats = bucket_floats(what, text, parameters);
  if (strategy.overlaps && (pays || text != "auto")) return floats;
  if (!strategy.overlaps && text != "auto" && text != "whole")
    throw InvalidConfig(std::string(what) + " " + text + " with the strategy " + strategy.name +
                        ", which exchanges nothing of a gradient before all of it is computed; give auto or "
                        "whole, or take ssgd, ssd, asgd or eager, which do");
  return std::max<std::size_t>(1, parameters);
}

// Compressed parts are exchanged one after the other, and lose in rounds what they hide (docs/benchmarks.md).
bool overlap_pays(const Strategy& strategy, const std::string& compress) {
  return strategy.overlap_pays() && compress.empty();
}

Readiness::Readiness(std::span<const Slice> tensors, std::size_t floats, Tell tell)
    : buckets_(tensors, floats), tell_(std::move(tell)) {
  begin();
}

double Readiness::share(std::size_t bucket) const {
  const Slice last = buckets_.all().front();
  const auto all = static_cast<double>(last.offset + last.count);
  const double backward = (1 - kForward) * static_cast<double>(buckets_.all()[bucket].count) / all;
  return bucket == 0 ? kForward + backward : backward;
}

void Readiness::begin() {
  told_ = 0;
  missing_.clear();
  for (const Slice& each : buckets_.all()) missing_.push_back(each.count);
}

void Readiness::add(Slice part) {
  if (!overlaps() || part.count == 0) return;
  const std::span<const Slice> all = buckets_.all();
  const std::size_t end = part.offset + part.count;
  // From the first that begins below the part's end: they lie from the last down.
  auto at = std::partition_point(all.begin(), all.end(), [&](const Slice& b) { return b.offset >= end; });
  for (; at != all.end() && at->offset + at->count > part.offset; ++at) {
    const std::size_t common = std::min(end, at->offset + at->count) - std::max(part.offset, at->offset);
    std::size_t& missing = missing_[static_cast<std::size_t>(at - all.begin())];
    TACIT_CHECK(common <= missing, "a part of a gradient was final twice");
    missing -= common;
  }
  while (told_ < all.size() && missing_[told_] == 0) tell_next();
}

void Readiness::finish() {
  while (overlaps() && told_ < buckets_.size()) tell_next();
}

void spend_compute(Process& me, std::int64_t t, Readiness& readiness, Seconds head_start) {
  const bool by_buckets = readiness.overlaps() && me.virtual_time();
  const auto computed = [&] { return me.virtual_time_spent().value_or(TimeSpent{}).compute; };
  for (std::size_t i = 0; i < (by_buckets ? readiness.buckets().size() : 1); ++i) {
    const double before = computed();
    me.grant_head_start(head_start);
    me.spend_compute(t, by_buckets ? readiness.share(i) : 1);
    head_start = std::max(Seconds(0), head_start - Seconds(computed() - before));
    if (by_buckets) readiness.add(readiness.buckets()[i]);
  }
}

void Readiness::tell_next() { tell_(buckets_.all()[told_++]); }

}  // namespace tacit
