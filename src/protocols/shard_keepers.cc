// SPDX-License-Identifier: MIT
#include "protocols/shard_keepers.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "collectives/unattended.h"
#include "core/mutex.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

// What comes in is kept, then added to the others.
constexpr double kCopiesPerPush = 2;

}  // namespace

// A job of the trainer's for the agent. It refers to what is the trainer's, who may stop waiting for it.
class ShardKeepers::Visit {
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
    ran_ = true;
  }
  // By the trainer: it is not run from now on.
  void call_off() {
    const MutexLock lock(mutex_);
    job_ = nullptr;
  }
  // Whether it was run. Rethrows what it threw.
  bool ran() {
    const MutexLock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    return ran_;
  }

 private:
  Mutex mutex_;
  std::function<void(ShardRule&)> job_ TACIT_GUARDED_BY(mutex_);
  std::exception_ptr error_ TACIT_GUARDED_BY(mutex_);
  bool ran_ TACIT_GUARDED_BY(mutex_) = false;
};

// One shard.
class ShardKeepers::Keeper {
 public:
  Keeper(Clock& clock, std::unique_ptr<ShardRule> rule) : clock_(clock), rule_(std::move(rule)) {}

  void push(const Call& call) {
    rule_->receive(call.from, call.step, call.body);
    taken_in(call);
  }
  void exchange(const Call& call, Answer& answer) {
    const ConstFloatView reply = rule_->exchange({call.from, call.step, call.weight, floats_in(call.body)});
    taken_in(call);
    send_copy(answer, reply);
  }
  // A pull, or a visit.
  void ask(const Call& call, std::unique_ptr<Answer> answer, std::shared_ptr<Visit> visit) {
    waiting_.push_back({call.from, call.step, std::move(answer), std::move(visit)});
  }
  void answer_those_it_can() {
    std::erase_if(waiting_, [this](Waiting& w) { return try_answer(w); });
  }

 private:
  struct Waiting {
    int from;
    std::int64_t step;
    std::unique_ptr<Answer> answer;
    std::shared_ptr<Visit> visit;  // null: a pull
  };
  using Copy = std::shared_ptr<KeptBytes>;

  void taken_in(const Call& call) {
    shown_ = nullptr;
    clock_.work(kCopiesPerPush * static_cast<double>(call.body.size()));
  }
  bool try_answer(Waiting& asked) {
    const ConstFloatView reply = rule_->pull(asked.from, asked.step);
    if (reply.empty()) return false;
    if (asked.visit) {
      asked.visit->run(*rule_);
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
};

ShardKeepers::ShardKeepers(Clock& clock, std::size_t shards, ShardBeginner begin)
    : clock_(clock), begin_(std::move(begin)), keepers_(shards) {}

ShardKeepers::~ShardKeepers() = default;

void ShardKeepers::keep(std::size_t shard, std::unique_ptr<ShardRule> rule) {
  keepers_[shard] = std::make_unique<Keeper>(clock_, std::move(rule));
}

bool ShardKeepers::any() const {
  return std::any_of(keepers_.begin(), keepers_.end(), [](const auto& each) { return each != nullptr; });
}

void ShardKeepers::handle(const Call& call, std::unique_ptr<Answer> answer) {
  const auto [kind, shard] = ShardCall::of(call.method);
  TACIT_CHECK(shard < keepers_.size() && kind >= ShardCall::kPush && kind <= ShardCall::kBegin &&
                  (kind == ShardCall::kPush || answer),
              "a shard was asked for something else than push or pull");
  if (kind == ShardCall::kBegin && !keepers_[shard] && begin_) keep(shard, begin_(floats_in(call.body)));
  if (kind == ShardCall::kBegin || !keepers_[shard]) {
    TACIT_CHECK(answer, "something was pushed to a shard that is not kept there");
    return answer->send({});
  }
  Keeper& keeper = *keepers_[shard];
  if (kind == ShardCall::kExchange) {
    keeper.exchange(call, *answer);
  } else if (kind == ShardCall::kPush) {
    keeper.push(call);
  } else {
    keeper.ask(call, std::move(answer), kind == ShardCall::kVisit ? visit_ : nullptr);
  }
  keeper.answer_those_it_can();
}

bool ShardKeepers::visit(const Place& at, const std::function<void(ShardRule&)>& job) {
  const auto visit = std::make_shared<Visit>(job);
  visit_ = visit;
  try {
    at.service.call(at.rank, {.method = ShardCall{ShardCall::kVisit, at.shard}.method(), .step = at.step},
                    {});
  } catch (...) {
    visit->call_off();
    throw;
  }
  return visit->ran();
}

}  // namespace tacit
