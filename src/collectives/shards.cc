// SPDX-License-Identifier: MIT
#include "tacit/collectives/shards.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "tacit/collectives/rounds.h"
#include "tacit/core/error.h"
#include "tacit/topology/chunks.h"

namespace tacit {
namespace {

constexpr std::uint32_t kService = 1;
// What comes in is kept, then added to the others.
constexpr double kCopiesPerPush = 2;
enum Method : std::uint32_t { kPush = 1, kPull = 2, kVisit = 3 };

}  // namespace

// The shard that lives on this rank, and its agent.
class Shards::Keeper {
 public:
  Keeper(Comm& comm, std::unique_ptr<ShardRule> rule) : clock_(comm.clock()), rule_(std::move(rule)) {
    agent_ = comm.serve(kService, [this](const Call& call, std::unique_ptr<Answer> answer) {
      handle(call, std::move(answer));
    });
  }
  void stop() {
    agent_->stop();
    finish_replies();  // they have been taken: nobody asks any more
  }

  // Runs the job on the agent, as soon as the rule can answer a pull of that step.
  void visit(Comm& comm, std::int64_t step, const std::function<void(ShardRule&)>& job) {
    std::exception_ptr error;
    visitor_ = [&] {
      try {
        job(*rule_);
      } catch (...) {
        error = std::current_exception();
      }
    };
    comm.call(comm.rank(), kService, {comm.rank(), kVisit, step, {}}, {});
    if (error) std::rethrow_exception(error);
  }

 private:
  struct Waiting {
    Call call;
    std::unique_ptr<Answer> answer;
  };

  void handle(const Call& call, std::unique_ptr<Answer> answer) {
    if (call.method == kPush) {
      finish_replies();  // a push may change what they are read from
      rule_->receive(call.from, call.step, call.body);
      clock_.work(kCopiesPerPush * static_cast<double>(call.body.size()));
    } else {
      TACIT_CHECK((call.method == kPull || call.method == kVisit) && answer,
                  "a shard was asked for something else than push or pull");
      waiting_.push_back({{call.from, call.method, call.step, {}}, std::move(answer)});
    }
    std::erase_if(waiting_, [this](Waiting& w) { return try_answer(w); });
  }
  bool try_answer(Waiting& asked) {
    const ConstFloatView reply = rule_->pull(asked.call.from, asked.call.step);
    if (reply.empty()) return false;
    const bool visit = asked.call.method == kVisit;
    if (visit) {
      finish_replies();
      visitor_();
    }
    // Not waited for: all workers that ask get their parts at the same time, however slow one of them is to take its
    // own.
    replies_.push_back(asked.answer->begin(visit ? ConstBytes() : bytes_of(reply)));
    return true;
  }
  void finish_replies() {
    for (const Request& each : replies_) each->wait();
    replies_.clear();
  }

  Clock& clock_;
  std::unique_ptr<ShardRule> rule_;
  std::vector<Waiting> waiting_;   // what came too early, and what is new
  std::vector<Request> replies_;   // on their way, read from what the rule has
  std::function<void()> visitor_;  // the trainer's, who waits meanwhile
  std::unique_ptr<Agent> agent_;   // last: it stops before what it uses goes away
};

void Shards::check_fit(int servers, int ranks) {
  if (servers < 1 || servers > ranks)
    throw InvalidConfig("servers=" + std::to_string(servers) + " does not fit " + std::to_string(ranks) +
                        " workers: give 1 to " + std::to_string(ranks) + ", one shard per worker at most");
}

Shards::Shards(Comm& comm, int servers, std::size_t count, const ShardRuleMaker& rule) : comm_(comm) {
  const int ranks = comm.size();
  check_fit(servers, ranks);
  for (const Slice& part : parts(count, servers)) {
    places_.push_back({static_cast<int>(places_.size()) * ranks / servers, part, places_.size()});
    if (places_.back().rank == comm.rank()) keeper_ = std::make_unique<Keeper>(comm, rule(part));
  }
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
  for (const Place& p : round_) pushes.push_back({p.rank, {comm_.rank(), kPush, step, messages[p.shard]}});
  comm_.post_all(kService, pushes);
}

void Shards::pull(std::int64_t step, FloatView out) const {
  std::vector<Addressed> pulls;
  for (const Place& p : round_)
    pulls.push_back({p.rank, {comm_.rank(), kPull, step, {}}, bytes_of(part(out, p.part))});
  comm_.call_all(kService, pulls);
}

void Shards::read(Comm& over, std::int64_t step, FloatView out) const {
  for (const Place& p : places_) {
    const FloatView shard = part(out, p.part);
    if (p.rank == comm_.rank()) comm_.call(p.rank, kService, {p.rank, kPull, step, {}}, bytes_of(shard));
    over.broadcast(bytes_of(shard), p.rank);
  }
}

void Shards::save(std::int64_t step, StateWriter& state) const {
  if (keeper_) keeper_->visit(comm_, step, [&](ShardRule& rule) { rule.save(state); });
}

void Shards::load(StateReader& state) {
  if (keeper_) keeper_->visit(comm_, kBeforeTheFirst, [&](ShardRule& rule) { rule.load(state); });
}

void Shards::close() {
  comm_.barrier();  // nobody asks any more
  if (keeper_) keeper_->stop();
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
