// SPDX-License-Identifier: MIT
#include "tacit/protocols/shards.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "protocols/rounds.h"
#include "protocols/shard_keepers.h"
#include "tacit/core/error.h"
#include "topology/chunks.h"
#include "topology/keeper.h"

namespace tacit {

void ShardRule::push(int, std::int64_t, ConstFloatView) { throw Bug("a shard that takes no pushes got one"); }
ConstFloatView ShardRule::exchange(const ShardPush&) {
  throw Bug("a shard that does not answer pushes was asked to");
}

void Shards::check_fit(int servers, int ranks) {
  if (servers < 1 || servers > ranks)
    throw InvalidConfig("servers=" + std::to_string(servers) + " does not fit " + std::to_string(ranks) +
                        " workers: give 1 to " + std::to_string(ranks) + ", one shard per worker at most");
}

int Shards::read_servers(OptionReader& options, int ranks) {
  const auto servers =
      static_cast<int>(options.integer("servers", ranks, 1, 1'000'000, {"shards", "all ranks"}));
  check_fit(servers, ranks);
  return servers;
}

Shards::Shards(Comm& comm, int servers, std::size_t count, const ShardRuleMaker& rule, ShardBeginner begin)
    : comm_(comm), survives_(begin && comm.survives()) {
  const int ranks = comm.size();
  check_fit(servers, ranks);
  for (const Slice& part : parts(count, servers))
    places_.push_back({static_cast<int>(places_.size()) * ranks / servers, part, places_.size()});
  keepers_ = std::make_unique<ShardKeepers>(comm.clock(), places_.size(), std::move(begin));
  for (const Place& p : places_)
    if (p.rank == comm.rank() && comm.entry(p.rank) == 0) keepers_->keep(p.shard, rule(p.part));
  Handler handler;
  if (survives_ || keepers_->any())
    handler = [this](const Call& call, std::unique_ptr<Answer> answer) {
      keepers_->handle(call, std::move(answer));
    };
  service_ = comm.serve(std::move(handler));
  round_ = places_;
  std::stable_partition(round_.begin(), round_.end(), [&](const Place& p) { return p.rank >= comm.rank(); });
}

Shards::~Shards() = default;

std::vector<Slice> Shards::parts(std::size_t count, int servers) {
  std::vector<Slice> all;
  for (int s = 0; s < servers; ++s)
    if (const Slice part = chunk(count, servers, s); part.count > 0) all.push_back(part);
  return all;
}

void Shards::push(std::int64_t step, ConstFloatView x) const {
  std::vector<ConstBytes> messages;
  for (const Place& p : places_) messages.push_back(bytes_of(part(x, p.part)));
  push(step, messages);
}

void Shards::push(std::int64_t step, std::span<const ConstBytes> messages) const {
  std::vector<Addressed> pushes;
  for (const Place& p : round_)
    pushes.push_back(
        {p.rank,
         {.method = ShardCall{ShardCall::kPush, p.shard}.method(), .step = step, .body = messages[p.shard]}});
  service_->post_all(pushes);
}

Shards::CallTo Shards::pull_into(FloatView out, std::int64_t step) {
  return [=](const Place& p) {
    const Call call{.method = ShardCall{ShardCall::kPull, p.shard}.method(), .step = step};
    return Addressed{.call = call, .reply = bytes_of(part(out, p.part))};
  };
}

void Shards::pull(std::int64_t step, FloatView out) const { ask(round_, pull_into(out, step), {}); }

void Shards::exchange(const ShardPush& push, FloatView out, ConstFloatView own) const {
  const auto call_to = [&](const Place& p) {
    const Call call{.method = ShardCall{ShardCall::kExchange, p.shard}.method(),
                    .step = push.step,
                    .weight = push.weight,
                    .body = bytes_of(part(push.x, p.part))};
    return Addressed{.call = call, .reply = bytes_of(part(out, p.part))};
  };
  ask(round_, call_to, own);
}

int Shards::keeper_of(const Place& place, std::span<const int> living) const {
  if (!survives_) return place.rank;
  return keeper(place.rank, living, [this](int rank) { return comm_.entry(rank); });
}

std::vector<Addressed> Shards::addressed(std::span<const Place> to, const CallTo& call) const {
  const std::vector<int> now = living();
  std::vector<Addressed> calls;
  for (const Place& p : to) calls.emplace_back(call(p)).peer = keeper_of(p, now);
  return calls;
}

// Every round but the last finds that a rank was lost or that a shard had not begun where it is kept now.
void Shards::ask(std::vector<Place> due, const CallTo& call, ConstFloatView own) const {
  if (!survives_) return service_->call_all(addressed(due, call));
  for (;;) {
    const std::vector<bool> answered = service_->try_call_all(addressed(due, call));
    std::vector<Place> left;
    for (std::size_t i = 0; i < due.size(); ++i)
      if (!answered[i]) left.push_back(due[i]);
    if (left.empty()) return;
    begin(left, own);
    due = std::move(left);
  }
}

// Where they are kept now, unless they have begun there. If that one is lost too, whoever asks next finds out.
void Shards::begin(std::span<const Place> anew, ConstFloatView own) const {
  const auto call_to = [&](const Place& p) {
    const Call call{.method = ShardCall{ShardCall::kBegin, p.shard}.method(),
                    .body = bytes_of(part(own, p.part))};
    return Addressed{.call = call};
  };
  service_->try_call_all(addressed(anew, call_to));
}

void Shards::read(Collectives& over, std::int64_t step, FloatView out) const {
  for (const Place& p : places_) {
    const int from = keeper_of(p, living());
    if (from == comm_.rank()) ask({p}, pull_into(out, step), out);
    over.broadcast(bytes_of(part(out, p.part)), from);
  }
}

void Shards::save(std::int64_t step, StateWriter& state, ConstFloatView own) const {
  const auto write = [&](const ShardRule& rule) { rule.save(state); };
  for (const Place& p : places_) {
    if (keeper_of(p, living()) != comm_.rank()) continue;
    const ShardKeepers::Place here{*service_, comm_.rank(), p.shard, step};
    while (!keepers_->visit(here, write)) begin({&p, 1}, own);
  }
}

void Shards::load(StateReader& state) {
  for (const Place& p : places_)
    if (p.rank == comm_.rank())
      keepers_->visit({*service_, p.rank, p.shard, kBeforeTheFirst},
                      [&](ShardRule& rule) { rule.load(state); });
}

void Shards::close() {
  comm_.barrier();  // nobody asks any more
  service_->stop();
}

namespace {

class MeanRule final : public ShardRule {
 public:
  MeanRule(int ranks, FloatView shard) : rounds_(ranks, shard) {}

  void push(int from, std::int64_t step, ConstFloatView x) override {
    if (rounds_.add(from, step, x)) answered_ = step;
  }
  ConstFloatView pull(int, std::int64_t step) override {
    return answered_ == step ? rounds_.mean() : ConstFloatView();
  }

 private:
  Rounds rounds_;
  std::int64_t answered_ = -1;
};

}  // namespace

std::unique_ptr<ShardRule> make_mean_rule(int ranks, FloatView shard) {
  return std::make_unique<MeanRule>(ranks, shard);
}

}  // namespace tacit
