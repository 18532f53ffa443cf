// SPDX-License-Identifier: MIT
#include "collectives/star.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "collectives/unattended.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "topology/chunks.h"

namespace tacit {
namespace {

// Methods above those of StarOp.
constexpr std::uint32_t kAsk = 0x3F000000;
constexpr std::uint32_t kResult = 0x3F000001;
constexpr std::uint32_t kAdmit = 0x3F000002;    // count on a rank that is back
constexpr std::uint32_t kEntered = 0x3F000003;  // by that rank: ask it what is asked of the others

FloatView floats(std::vector<std::byte>& bytes) {
  return std::span(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
}

}  // namespace

Star::Star(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane)
    : endpoint_(endpoint),
      caller_(endpoint, lane, Caller::Tickets::kOdd),
      monitor_(tasks.make_monitor()),
      parts_(static_cast<std::size_t>(endpoint.size())) {
  agent_ = std::make_unique<Agent>(
      endpoint, tasks, Agent::Address{lane, kService},
      [this](const Call& call, std::unique_ptr<Answer> answer) { on_call(call, std::move(answer)); },
      [this](int rank) { on_departure(rank); });
}

// --- who takes part

bool Star::takes_part(int rank) const {
  const std::lock_guard lock(*monitor_);
  const Part& part = parts_[static_cast<std::size_t>(rank)];
  return part.entered && part.entry == endpoint_.entry(rank);
}

bool Star::counts(int rank) const {
  const std::lock_guard lock(*monitor_);
  return parts_[static_cast<std::size_t>(rank)].entry == endpoint_.entry(rank);
}

std::vector<int> Star::members(std::int64_t number) const {
  std::vector<int> ranks = living(endpoint_);
  const std::lock_guard lock(*monitor_);
  std::erase_if(ranks, [&](int rank) {
    const Part& part = parts_[static_cast<std::size_t>(rank)];
    return part.entry != endpoint_.entry(rank) || number < part.from;
  });
  return ranks;
}

int Star::head(std::int64_t number) const {
  std::vector<int> ranks = members(number);
  TACIT_CHECK(!ranks.empty(), "a rank that takes no part has come to a collective");
  sort_by_entry(ranks, [this](int rank) { return endpoint_.entry(rank); });
  return ranks.front();
}

// What is said of an earlier life comes too late.
void Star::count_on(const Admission& whom, bool entered) {
  const std::lock_guard lock(*monitor_);
  Part& part = parts_[static_cast<std::size_t>(whom.rank)];
  if (whom.entry >= part.entry) part = {whom.entry, whom.from, entered};
}

bool Star::tell(std::uint32_t method, const Admission& whom) {
  const Call call{.method = method, .body = std::as_bytes(std::span(&whom, 1))};
  bool all = true;
  for (const int rank : members(whom.from)) {
    std::byte met{1};
    try {
      caller_.call(rank, kService, call, Bytes(&met, 1));
    } catch (const PeerLost&) {
      (void)living(endpoint_);  // throws where it is this one that is lost; else there is one less to know
    }
    all = all && met != std::byte{0};
  }
  return all;
}

bool Star::admit(const Admission& whom) { return tell(kAdmit, whom); }

void Star::enter(std::int64_t number) {
  const int own = endpoint_.rank();
  for (const int rank : living(endpoint_))
    count_on({rank, endpoint_.entry(rank), rank == own ? number : 0}, true);
  {
    const std::lock_guard lock(*monitor_);
    kept_number_ = number - 1;
  }
  tell(kEntered, {own, endpoint_.entry(own), number});
}

void Star::on_admission(const Call& call, Answer& answer) {
  Admission whom;
  TACIT_CHECK(call.body.size() == sizeof whom, "an admission of another form");
  copy(call.body, std::as_writable_bytes(std::span(&whom, 1)));
  count_on(whom, call.method == kEntered);
  const std::byte met{endpoint_.here(whom.rank) && endpoint_.entry(whom.rank) == whom.entry
                          ? std::uint8_t{1}
                          : std::uint8_t{0}};
  answer.send(ConstBytes(&met, 1));
}

// --- collectives

void Star::join(std::int64_t number, StarOp op, ConstBytes x, Bytes result) {
  for (;;) {
    const int head = this->head(number);
    {
      const std::lock_guard lock(*monitor_);
      asked_[number].erase(head);  // it has not this result: here it comes
    }
    try {
      return caller_.call(head, kService, {.method = op.method(), .step = number, .body = x}, result);
    } catch (const PeerLost&) {  // the next one is head
    }
  }
}

void Star::keep(std::int64_t number, ConstBytes result) {
  std::set<int> heads;
  {
    const std::lock_guard lock(*monitor_);
    kept_number_ = number;
    kept_.assign(result.begin(), result.end());
    if (const auto found = asked_.find(number); found != asked_.end()) heads = std::move(found->second);
    asked_.erase(asked_.begin(), asked_.upper_bound(number));
  }
  for (const int head : heads) {
    try {
      caller_.post(head, kService, {.method = kResult, .step = number, .body = result});
    } catch (const PeerLost&) {  // the next head asks again
    }
  }
}

void Star::on_call(const Call& call, std::unique_ptr<Answer> answer) {
  if (call.method == kAsk) return on_ask(call.from, call.step);
  if (call.method == kResult) return on_result(call.step, call.body);
  if (call.method == kAdmit || call.method == kEntered) return on_admission(call, *answer);
  joins_[call.from] = {
      call.step, StarOp::of(call.method), {call.body.begin(), call.body.end()}, std::move(answer)};
  settle();
}

void Star::on_ask(int head, std::int64_t number) {
  std::vector<std::byte> result;
  {
    const std::lock_guard lock(*monitor_);
    if (kept_number_ < number) asked_[number].insert(head);  // told if it is had after all
    if (kept_number_ != number) return;
    result = kept_;
  }
  // A letter to ourselves would wait for this very task.
  if (head == endpoint_.rank()) return on_result(number, result);
  // The agent does not wait until the head's agent takes it: where ranks disagree about who lives there are two heads,
  // and their agents, each with a letter for the other, would take neither.
  letters_.remove_if([](const Letter& letter) { return !letter.sending || letter.sending->over(); });
  Letter& letter = letters_.emplace_back(Letter{std::move(result)});
  letter.sending =
      caller_.begin_post(head, kService, {.method = kResult, .step = number, .body = letter.result});
}

void Star::on_result(std::int64_t number, ConstBytes result) {
  const auto kept = std::make_shared<const KeptBytes>(result);
  // Not all may have joined it yet; for those its owner is asked again.
  std::erase_if(asked_by_us_, [&](const auto& asked) { return asked.second == number; });
  for (auto at = joins_.begin(); at != joins_.end();) {
    if (at->second.number != number) {
      ++at;
      continue;
    }
    at->second.answer->send(kept->view(), kept);
    at = joins_.erase(at);
  }
}

// What it asked for, and was asked for, is forgotten: it may come back as another one.
void Star::on_departure(int rank) {
  joins_.erase(rank);
  asked_by_us_.erase(rank);
  settle();
}

void Star::settle() {
  // What a rank sent before it was lost may come after the news of it, and of its return.
  std::erase_if(joins_,
                [this](const auto& join) { return !endpoint_.here(join.first) || !counts(join.first); });
  if (joins_.empty()) return;
  std::int64_t number = joins_.begin()->second.number;
  for (const auto& [rank, join] : joins_) number = std::min(number, join.number);
  bool complete = true;
  for (const int rank : members(number)) {
    const auto found = joins_.find(rank);
    if (found != joins_.end() && found->second.number == number) continue;
    complete = false;
    // It computes, or has this result already: by messages before the loss, or from a head that is gone.
    const auto asked = asked_by_us_.try_emplace(rank, -1).first;
    if (std::exchange(asked->second, number) == number) continue;
    try {
      caller_.post(rank, kService, {.method = kAsk, .step = number});
    } catch (const PeerLost&) {  // its loss comes as news
    }
  }
  if (complete) on_result(number, combine());
}

std::vector<std::byte> Star::combine() const {
  const Join& first = joins_.begin()->second;
  std::vector<std::byte> result = first.x;
  for (const auto& [rank, join] : joins_)
    if (join.x.size() != result.size())
      throw Mismatch("rank " + std::to_string(rank) + " came with " + std::to_string(join.x.size()) +
                     " bytes to a collective of " + std::to_string(result.size()) +
                     "; do all ranks train the same model?");
  switch (first.op.kind) {
    case StarOp::Kind::kFrom:
      if (const auto root = joins_.find(first.op.root); root != joins_.end()) result = root->second.x;
      break;
    case StarOp::Kind::kSlices:
      for (const auto& [rank, join] : joins_) {
        const Slice own = chunk(result.size() / sizeof(float), endpoint_.size(), rank);
        copy(part(floats_in(join.x), own), part(floats(result), own));
      }
      break;
    default:
      for (auto at = std::next(joins_.begin()); at != joins_.end(); ++at)
        kernels::add(floats_in(at->second.x), floats(result));
      if (first.op.kind == StarOp::Kind::kMean)
        kernels::scale(1.0F / static_cast<float>(joins_.size()), floats(result));
  }
  return result;
}

}  // namespace tacit
