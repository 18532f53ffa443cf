// SPDX-License-Identifier: MIT
#include "transport/tcp/circle_watch.h"

#include <algorithm>
#include <utility>

namespace tacit {
namespace {

// A wait is this old when it asks for the first time: most end long before.
constexpr Seconds kFirst{1};

StuckWait wait_of(const CircleQuestion::Link& link, int peer) {
  return {link.rank, peer, *Tag::from_bits(link.tag), link.number};
}

std::string describe(const CircleQuestion& question) {
  std::vector<StuckWait> circle;
  for (std::size_t i = 0; i < question.path.size(); ++i)
    circle.push_back(wait_of(question.path[i], question.path[(i + 1) % question.path.size()].rank));
  return describe_circle(circle);
}

}  // namespace

CircleWatch::CircleWatch(int rank, int size, Seconds patience)
    : rank_(rank),
      book_(rank, patience),
      sent_(static_cast<std::size_t>(size) * Tag::kLanes),
      received_(static_cast<std::size_t>(size) * Tag::kLanes) {}

void CircleWatch::count_sent(int peer, Tag tag) {
  if (tag.is_exchange()) sent_[place(peer, tag.lane())].fetch_add(1);
}

void CircleWatch::count_received(int peer, Tag tag) {
  if (tag.is_exchange()) received_[place(peer, tag.lane())].fetch_add(1);
}

// The count is read before it is certain that the wait has not ended: a message that is counted has ended its wait before.
std::optional<CircleWatch::Errand> CircleWatch::continued(CircleQuestion question, const StuckWait& own,
                                                          Tag::Lane asked, Seconds now) {
  question.received = received_[place(own.peer, own.tag.lane())].load();
  const auto still = book_.stuck(asked, now);
  if (!still || still->number != own.number) return std::nullopt;
  question.path.push_back({rank_, own.tag.bits(), own.number});
  return Errand{own.peer, std::move(question)};
}

std::vector<CircleWatch::Errand> CircleWatch::ask(Seconds now) {
  std::vector<Errand> errands;
  for (const StuckWait& wait : book_.due(now, std::min(kFirst, book_.patience())))
    if (auto errand = continued({}, wait, wait.tag.lane(), now)) errands.push_back(*std::move(errand));
  return errands;
}

CircleWatch::Answer CircleWatch::hear(const CircleQuestion& question, Seconds now) {
  const CircleQuestion::Link& asker = question.path.back();
  const Tag::Lane lane = Tag::from_bits(asker.tag)->lane();
  const auto own = book_.stuck(lane, now);
  // Read after that: what this rank sends in the lane it sent before it was stuck.
  if (!own || sent_[place(asker.rank, lane)].load() != question.received) return {};
  const CircleQuestion::Link& first = question.path.front();
  if (first.rank == rank_)
    return own->number == first.number ? Answer{std::nullopt, describe(question)} : Answer{};
  // Of those in a circle, the lowest rank's question is enough. One that has come by already is for the others to ask.
  const bool seen = std::any_of(question.path.begin(), question.path.end(),
                                [&](const CircleQuestion::Link& link) { return link.rank == rank_; });
  if (seen || rank_ < first.rank) return {};
  return {continued(question, *own, lane, now), {}};
}

void CircleWatch::close(const std::string& circle) {
  const MutexLock lock(mutex_);
  if (circle_.empty()) circle_ = circle;
  closed_.store(true);
}

std::string CircleWatch::what() {
  const MutexLock lock(mutex_);
  return circle_;
}

}  // namespace tacit
