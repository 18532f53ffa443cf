// SPDX-License-Identifier: MIT
#include "transport/stuck.h"

#include <algorithm>

namespace tacit {
namespace {

// Between two questions of a long wait.
constexpr Seconds kMostPause{10};

bool has(const std::vector<StuckWait>& path, int rank) {
  return std::any_of(path.begin(), path.end(), [&](const StuckWait& each) { return each.rank == rank; });
}

}  // namespace

std::string describe_circle(const std::vector<StuckWait>& circle) {
  constexpr std::size_t kMostNamed = 8;
  std::string text;
  for (std::size_t i = 0; i < circle.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "rank " : ", rank ") + std::to_string(circle[i].rank) + " waits for rank " +
            std::to_string(circle[i].peer) + " (" + circle[i].tag.text() + ")";
  if (circle.size() > kMostNamed) text += ", and so on over " + std::to_string(circle.size()) + " ranks";
  return text +
         ": they wait for each other and can never go on; let all ranks call the same exchanges in the same "
         "order";
}

const void* StuckBook::this_thread() {
  static thread_local const char token = 0;
  return &token;
}

void StuckBook::note_use(Tag tag) {
  if (!tag.is_exchange()) return;
  LaneUse& lane = lanes_[at(tag.lane())];
  const void* const me = this_thread();
  const void* first = lane.thread.load();
  if (first == me) return;
  if (first != nullptr || (!lane.thread.compare_exchange_strong(first, me) && first != me))
    lane.several.store(true);
}

StuckBook::Entry::Entry(StuckBook& book, int peer, Tag tag, const std::atomic<bool>& done, Seconds since)
    : book_(book) {
  const MutexLock lock(book_.mutex_);
  where_ = book_.waits_.insert(book_.waits_.end(),
                               {{book_.rank_, peer, tag, book_.next_++}, &done, this_thread(), since, since});
}

StuckBook::Entry::~Entry() {
  const MutexLock lock(book_.mutex_);
  book_.waits_.erase(where_);
}

std::optional<StuckWait> StuckBook::stuck(Tag::Lane lane, Seconds now) {
  if (retired_.load()) return std::nullopt;
  const LaneUse& use = lanes_[at(lane)];
  const MutexLock lock(mutex_);
  for (const Entry::Wait& wait : waits_) {
    if (wait.done->load()) continue;
    const bool of_lane = wait.what.tag.lane() == lane;
    const bool of_its_thread =
        !use.several.load() && use.thread.load() == wait.thread && now - wait.since >= patience_;
    if (of_lane || of_its_thread) return wait.what;
  }
  return std::nullopt;
}

std::vector<StuckWait> StuckBook::due(Seconds now, Seconds first) {
  std::vector<StuckWait> all;
  if (retired_.load()) return all;
  const MutexLock lock(mutex_);
  for (Entry::Wait& wait : waits_) {
    const Seconds age = now - wait.since;
    if (wait.done->load() || age < first || now < wait.due) continue;
    wait.due = now + std::min(age, kMostPause);
    all.push_back(wait.what);
  }
  return all;
}

StuckBooks::StuckBooks(int ranks, Seconds patience) {
  for (int rank = 0; rank < ranks; ++rank) books_.emplace_back(rank, patience);
}

void StuckBooks::retire() {
  for (StuckBook& each : books_) each.retire();
}

std::vector<StuckWait> StuckBooks::circle(const StuckWait& wait, Seconds now) {
  std::vector<StuckWait> path{wait};
  for (;;) {
    const auto next = (*this)[path.back().peer].stuck(path.back().tag.lane(), now);
    if (!next) return {};
    if (next->rank == wait.rank && next->number == wait.number) break;
    if (has(path, next->rank)) return {};  // it is for those in the circle to say so
    path.push_back(*next);
  }
  // Between the two looks all of these waits were there at once, and none had ended.
  for (std::size_t i = 0; i < path.size(); ++i) {
    const StuckWait& awaited = path[(i + 1) % path.size()];
    const auto again = (*this)[awaited.rank].stuck(path[i].tag.lane(), now);
    if (!again || again->number != awaited.number) return {};
  }
  return path;
}

}  // namespace tacit
