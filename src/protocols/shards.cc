// SPDX-License-Identifier: MIT
#include "tacit/protocols/shards.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "collectives/unattended.h"
#include "core/mutex.h"
#include "protocols/rounds.h"
#include "tacit/core/error.h"
#include "topology/chunks.h"

namespace tacit {
namespace {

// What comes in is kept, then added to the others.
constexpr double kCopiesPerPush = 2;
enum Method : std::uint32_t { kPush = 1, kPull = 2, kVisit = 3, kExchange = 4 };

}  // namespace

// The shard that lives on this rank. What is not the trainer's runs on its agent.
class Shards::Keeper {
 public:
  Keeper(Clock& clock, std::unique_ptr<ShardRule> rule) : clock_(clock), rule_(std::move(rule)) {}

  // For the trainer: runs the job on the agent of `service`, as soon as the rule can answer a pull of that step.
  void visit(Service& service, int rank, std::int64_t step, const std::function<void(ShardRule&)>& job) {
    const auto visit = std::make_shared<Visit>(job);
    visit_ = visit;
    try {
      service.call(rank, {.method = kVisit, .step = step}, {});
    } catch (...) {
      visit->call_off();
      throw;
    }
    visit->rethrow();
  }

  void handle(const Call& call, std::unique_ptr<Answer> answer) {
    if (call.method == kExchange) {
      const ConstFloatView reply = rule_->exchange({call.from, call.step, call.weight, floats_in(call.body)});
      shown_ = nullptr;
      clock_.work(kCopiesPerPush * static_cast<double>(call.body.size()));
      send_copy(*answer, reply);
    } else if (call.method == kPush) {
      rule_->receive(call.from, call.step, call.body);
      shown_ = nullptr;
      clock_.work(kCopiesPerPush * static_cast<double>(call.body.size()));
    } else {
      TACIT_CHECK((call.method == kPull || call.method == kVisit) && answer,
                  "a shard was asked for something else than push or pull");
      waiting_.push_back({call.from, call.method, call.step, std::move(answer)});
    }
    std::erase_if(waiting_, [this](Waiting& w) { return try_answer(w); });
  }

 private:
  // A job of the trainer's for the agent. It refers to what is the trainer's, who may stop waiting for it.
  class Visit {
   public:
    explicit Visit(std::function<void(ShardRule&)> job) : job_(std::move(job)) {}
    // By the agent.
    void run(ShardRule& rule) {
      const MutexLock lock(mutex_);
      try {
        if (job_) job_(rule);
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    // By the trainer: it is not run from now on.
    void call_off() {
      const MutexLock lock(mutex_);
      job_ = nullptr;
    }
    void rethrow() {
      const MutexLock lock(mutex_);
      if (error_) std::rethrow_exception(error_);
    }

   private:
    Mutex mutex_;
    std::function<void(ShardRule&)> job_ TACIT_GUARDED_BY(mutex_);
    std::exception_ptr error_ TACIT_GUARDED_BY(mutex_);
  };
  struct Waiting {
    int from;
    std::uint32_t method;
    std::int64_t step;
    std::unique_ptr<Answer> answer;
  };
  using Copy = std::shared_ptr<KeptBytes>;

  bool try_answer(Waiting& asked) {
    const ConstFloatView reply = rule_->pull(asked.from, asked.step);
    if (reply.empty()) return false;
    if (asked.method == kVisit) {
      visit_->run(*rule_);
      shown_ = nullptr;
      asked.answer->send({});
      return true;
    }
    send_copy(*asked.answer, reply);
    return true;
  }
  void send_copy(Answer& answer, ConstFloatView reply) {
    const Copy copy = copy_of(bytes_of(reply));
    answer.send(copy->view(), copy);
  }

  // Answers leave from a copy: the next push may change what the rule has, and does not wait for a worker that is slow
  // to take its part. Workers that ask between two pushes share one.
  Copy copy_of(ConstBytes reply) {
    if (shown_ && shown_of_.data() == reply.data() && shown_of_.size() == reply.size()) return shown_;
    shown_ = nullptr;
    const auto free =
        std::find_if(copies_.begin(), copies_.end(), [](const Copy& c) { return c.use_count() == 1; });
    shown_ = free == copies_.end() ? copies_.emplace_back(std::make_shared<KeptBytes>()) : *free;
    shown_->assign(reply);
    shown_of_ = reply;
    return shown_;
  }

  Clock& clock_;
  std::unique_ptr<ShardRule> rule_;
  std::vector<Waiting> waiting_;  // what came too early, and what is new
  std::vector<Copy> copies_;      // as many as answers of different age are under way at a time
  Copy shown_;                    // the newest; null where a push came after it
  ConstBytes shown_of_;           // what it is a copy of
  std::shared_ptr<Visit> visit_;  // the last one; written by the trainer before it calls
};

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

Shards::Shards(Comm& comm, int servers, std::size_t count, const ShardRuleMaker& rule) : comm_(comm) {
  const int ranks = comm.size();
  check_fit(servers, ranks);
  for (const Slice& part : parts(count, servers)) {
    places_.push_back({static_cast<int>(places_.size()) * ranks / servers, part, places_.size()});
    if (places_.back().rank == comm.rank()) keeper_ = std::make_unique<Keeper>(comm.clock(), rule(part));
  }
  Handler handler;
  if (keeper_)
    handler = [this](const Call& call, std::unique_ptr<Answer> answer) {
      keeper_->handle(call, std::move(answer));
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
    pushes.push_back({p.rank, {.method = kPush, .step = step, .body = messages[p.shard]}});
  service_->post_all(pushes);
}

void Shards::pull(std::int64_t step, FloatView out) const {
  std::vector<Addressed> pulls;
  for (const Place& p : round_)
    pulls.push_back({p.rank, {.method = kPull, .step = step}, bytes_of(part(out, p.part))});
  service_->call_all(pulls);
}

void Shards::exchange(const ShardPush& push, FloatView out) const {
  std::vector<Addressed> calls;
  for (const Place& p : round_) {
    const Call call{.method = kExchange,
                    .step = push.step,
                    .weight = push.weight,
                    .body = bytes_of(part(push.x, p.part))};
    calls.push_back({p.rank, call, bytes_of(part(out, p.part))});
  }
  service_->call_all(calls);
}

void Shards::read(Collectives& over, std::int64_t step, FloatView out) const {
  for (const Place& p : places_) {
    const FloatView shard = part(out, p.part);
    if (p.rank == comm_.rank()) service_->call(p.rank, {.method = kPull, .step = step}, bytes_of(shard));
    over.broadcast(bytes_of(shard), p.rank);
  }
}

void Shards::save(std::int64_t step, StateWriter& state) const {
  if (keeper_) keeper_->visit(*service_, comm_.rank(), step, [&](ShardRule& rule) { rule.save(state); });
}

void Shards::load(StateReader& state) {
  if (keeper_)
    keeper_->visit(*service_, comm_.rank(), kBeforeTheFirst, [&](ShardRule& rule) { rule.load(state); });
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
