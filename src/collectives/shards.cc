// SPDX-License-Identifier: MIT
#include "tacit/collectives/shards.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/topology/chunks.h"

namespace tacit {
namespace {

constexpr std::uint32_t kService = 1;
enum Method : std::uint32_t { kPush = 1, kPull = 2 };

}  // namespace

// The shard that lives on this rank, and its agent.
class Shards::Keeper {
 public:
  Keeper(Comm& comm, std::unique_ptr<ShardRule> rule) : rule_(std::move(rule)) {
    agent_ = comm.serve(kService, [this](const Call& call, std::unique_ptr<Answer> answer) {
      handle(call, std::move(answer));
    });
  }
  void stop() { agent_->stop(); }

 private:
  struct Waiting {
    int from;
    std::int64_t step;
    std::unique_ptr<Answer> answer;
  };

  void handle(const Call& call, std::unique_ptr<Answer> answer) {
    if (call.method == kPush) {
      rule_->push(call.from, call.step, floats_in(call.body));
      std::erase_if(waiting_, [this](Waiting& w) { return try_answer(w); });
      return;
    }
    TACIT_CHECK(call.method == kPull && answer, "a shard was asked for something else than push or pull");
    Waiting pull{call.from, call.step, std::move(answer)};
    if (!try_answer(pull)) waiting_.push_back(std::move(pull));
  }
  bool try_answer(Waiting& pull) {
    const ConstFloatView reply = rule_->pull(pull.from, pull.step);
    if (reply.empty()) return false;
    pull.answer->send(bytes_of(reply));
    return true;
  }

  std::unique_ptr<ShardRule> rule_;
  std::vector<Waiting> waiting_;  // pulls that came too early
  std::unique_ptr<Agent> agent_;  // last: it stops before what it uses goes away
};

void Shards::check_fit(int servers, int ranks) {
  if (servers < 1 || servers > ranks)
    throw InvalidConfig("servers=" + std::to_string(servers) + " does not fit " + std::to_string(ranks) +
                        " workers: give 1 to " + std::to_string(ranks) + ", one shard per worker at most");
}

Shards::Shards(Comm& comm, int servers, std::size_t count, const ShardRuleMaker& rule) : comm_(comm) {
  const int ranks = comm.size();
  check_fit(servers, ranks);
  for (int s = 0; s < servers; ++s) {
    const Slice part = chunk(count, servers, s);
    if (part.count == 0) continue;  // fewer parameters than servers
    places_.push_back({s * ranks / servers, part});
    if (places_.back().rank == comm.rank()) keeper_ = std::make_unique<Keeper>(comm, rule(part));
  }
  // Ranks go round the shards from their own place on, so that they do not all stand before the same one.
  std::stable_partition(places_.begin(), places_.end(), [&](const Place& p) { return p.rank >= comm.rank(); });
}

Shards::~Shards() = default;

void Shards::push(std::int64_t step, ConstFloatView x) {
  for (const Place& p : places_)
    comm_.post(p.rank, kService, {comm_.rank(), kPush, step, bytes_of(part(x, p.part))});
}

void Shards::pull(std::int64_t step, FloatView out) {
  for (const Place& p : places_)
    comm_.call(p.rank, kService, {comm_.rank(), kPull, step, {}}, bytes_of(part(out, p.part)));
}

void Shards::close() {
  comm_.barrier();  // nobody asks any more
  if (keeper_) keeper_->stop();
}

namespace {

class MeanRule final : public ShardRule {
 public:
  MeanRule(int ranks, std::size_t count)
      : ranks_(static_cast<std::size_t>(ranks)), count_(count), answer_(count) {}

  void push(int from, std::int64_t step, ConstFloatView x) override {
    TACIT_CHECK(x.size() == count_, "a push does not fit its shard");
    Round& round = rounds_[step];
    round.resize(ranks_);
    round[static_cast<std::size_t>(from)].assign(x.begin(), x.end());
    for (const auto& contribution : round)
      if (contribution.empty()) return;
    copy(round[0], answer_);
    for (std::size_t r = 1; r < ranks_; ++r) kernels::add(round[r], answer_);
    kernels::scale(1.0F / static_cast<float>(ranks_), answer_);
    answered_ = step;
    rounds_.erase(step);
  }
  ConstFloatView pull(int, std::int64_t step) override {
    return answered_ == step ? ConstFloatView(answer_) : ConstFloatView();
  }

 private:
  using Round = std::vector<std::vector<float>>;  // by rank
  const std::size_t ranks_;
  const std::size_t count_;
  std::map<std::int64_t, Round> rounds_;  // a fast rank may already push the next step
  std::int64_t answered_ = -1;
  std::vector<float> answer_;
};

}  // namespace

std::unique_ptr<ShardRule> make_mean_rule(int ranks, std::size_t count) {
  return std::make_unique<MeanRule>(ranks, count);
}

}  // namespace tacit
