// SPDX-License-Identifier: MIT
#include "sim/scheduler.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <utility>

#include "sim/network.h"
#include "sim/platform.h"
#include "tacit/core/error.h"
#include "tacit/transport/endpoint.h"

namespace tacit::sim {

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

struct Actor {
  std::string name;
  int rank = 0;
  bool trainer = false;
  bool doomed = false;                                 // woken because of a dead-lock
  s4u::SemaphorePtr turn = s4u::Semaphore::create(0);  // one release is one wake-up
  Reason reason{};                                     // these five: while it sleeps
  std::vector<Gate*> gates{};
  Timer* alarm = nullptr;
  bool timed = false;                                           // its alarm is one of the events to come
  std::size_t place = std::numeric_limits<std::size_t>::max();  // in the list of sleepers
  // The last time it slept for a task of its own rank. Woken and asleep again at once is one such time.
  double idle_from = -1;
  double idle_to = -1;
};

namespace {

bool for_own_task(const Reason& reason) {
  return reason.kind == Reason::Kind::kChannel || reason.kind == Reason::Kind::kTask;
}

// The C++ run time keeps the exceptions that are being thrown and caught per thread, and actors share one: each takes
// its own away while others run. The layout is that of the Itanium C++ ABI.
class ExceptionState {
 public:
  ExceptionState() {
    std::memcpy(&kept_, abi::__cxa_get_globals(), sizeof kept_);
    const Globals none{};
    std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), &none, sizeof none);
  }
  ~ExceptionState() { std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), &kept_, sizeof kept_); }
  ExceptionState(const ExceptionState&) = delete;
  ExceptionState& operator=(const ExceptionState&) = delete;

 private:
  struct Globals {
    void* caught;
    unsigned int uncaught;
  };
  Globals kept_{};
};

std::string describe_sleep(const Actor& actor) {
  switch (actor.reason.kind) {
    case Reason::Kind::kMessage:
      return describe_wait(actor.rank, actor.reason.peer, *actor.reason.tag);
    case Reason::Kind::kTask:
      return "rank " + std::to_string(actor.rank) + " waits for its task " + actor.reason.task;
    default:
      return "rank " + std::to_string(actor.rank) + " waits for a task of its own (" + actor.name + ")";
  }
}

}  // namespace

class Scheduler::Impl {
 public:
  explicit Impl(const Cluster& cluster)
      : network_(build_platform(cluster)),
        trainers_(static_cast<std::size_t>(network_.size())),
        stopped_(static_cast<std::size_t>(network_.size())) {}

  int size() const { return network_.size(); }

  void spawn(const std::string& name, int rank, bool trainer, std::function<void()> body) {
    ++running_;
    later([this, name, rank, trainer, body = std::move(body)]() mutable {
      s4u::Actor::create(name, network_.host(rank), [this, name, rank, trainer, body = std::move(body)] {
        Actor me{.name = name, .rank = rank, .trainer = trainer};
        current_ = &me;
        if (trainer) trainers_[static_cast<std::size_t>(rank)] = &me;
        body();
        if (trainer) trainers_[static_cast<std::size_t>(rank)] = nullptr;
        --running_;
        ++ended_;
        look_for_deadlock();  // still this actor: whom it wakes must not run before it is through
        current_ = nullptr;
      });
      ++started_;
    });
  }

  void run() {
    s4u::Engine::get_instance()->run();
    if (ended_ != started_) throw Bug("SimGrid ended a simulation with actors that had not ended");
  }

  void sleep(std::span<Gate* const> gates, const Reason& reason, Deadline deadline) {
    Actor& me = *current_;
    me.reason = reason;
    me.doomed = false;
    me.gates.assign(gates.begin(), gates.end());
    for (Gate* each : gates) each->sleepers.push_back(&me);
    me.place = sleepers_.size();
    sleepers_.push_back(&me);
    me.timed = deadline != kNever;
    if (me.timed) ++events_;
    if (me.timed)
      me.alarm = Timer::set(std::max(deadline.count(), s4u::Engine::get_clock()), [this, &me] {
        me.alarm = nullptr;  // SimGrid deletes it
        wake(me);
        look_for_deadlock();  // it may be stopped
      });
    --running_;
    look_for_deadlock();
    current_ = nullptr;
    if (for_own_task(reason) && me.idle_to != s4u::Engine::get_clock())
      me.idle_from = s4u::Engine::get_clock();
    {
      const ExceptionState mine;
      me.turn->acquire();
    }
    if (for_own_task(reason)) me.idle_to = s4u::Engine::get_clock();
    current_ = &me;
    if (me.alarm != nullptr) std::exchange(me.alarm, nullptr)->remove();
  }

  void wake(Gate& gate) {
    while (!gate.sleepers.empty()) wake(*gate.sleepers.front());
  }
  void wake_rank(int rank) {
    const std::vector<Actor*> all = sleepers_;
    for (Actor* each : all)
      if (each->rank == rank) wake(*each);
  }
  void wake_everyone() {
    const std::vector<Actor*> all = sleepers_;
    for (Actor* each : all) wake(*each);
  }

  void stop(int rank) { stopped_[static_cast<std::size_t>(rank)] = true; }
  void resume(int rank) {
    stopped_[static_cast<std::size_t>(rank)] = false;
    std::erase_if(held_, [&](Actor* each) {
      if (each->rank == rank) let_run(*each);
      return each->rank == rank;
    });
  }
  void on_standstill(std::function<void(int)> fn) { end_stopped_ = std::move(fn); }

  void at(Deadline date, std::function<void()> fn, bool counts) {
    if (counts) ++events_;
    Timer::set(date.count(), [this, counts, fn = std::move(fn)] {
      if (counts) --events_;
      fn();
      look_for_deadlock();
    });
  }

  void transfer(int from, int to, std::uint64_t bytes, std::function<void()> fn) {
    network_.require_way(from, to);
    ++events_;
    later([this, from, to, bytes, fn = std::move(fn)] {
      network_.send(from, to, bytes, [this, fn] {
        --events_;
        fn();
        look_for_deadlock();
      });
    });
  }

  std::optional<Seconds> idle_since(int rank) const {
    const Actor* const trainer = trainers_[static_cast<std::size_t>(rank)];
    const bool idle = trainer != nullptr && !trainer->gates.empty() && for_own_task(trainer->reason);
    return idle ? std::optional(Seconds(trainer->idle_from)) : std::nullopt;
  }
  Actor* current() const { return current_; }
  const std::string& deadlock() const { return deadlock_; }

 private:
  // SimGrid's own context works these off at the same virtual time.
  void later(std::function<void()> fn) {
    queue_.push_back(std::move(fn));
    if (queue_.size() > 1) return;
    Timer::set(s4u::Engine::get_clock(), [this] {
      const std::vector<std::function<void()>> work = std::exchange(queue_, {});
      for (const auto& each : work) each();
    });
  }

  void wake(Actor& actor) {
    if (actor.gates.empty()) return;  // awake already
    for (Gate* each : actor.gates) std::erase(each->sleepers, &actor);
    actor.gates.clear();
    sleepers_.back()->place = actor.place;
    sleepers_[actor.place] = sleepers_.back();
    sleepers_.pop_back();
    if (std::exchange(actor.timed, false)) --events_;
    is_stopped(actor) ? held_.push_back(&actor) : let_run(actor);
  }
  void let_run(Actor& actor) {
    ++running_;
    if (current_ == nullptr) return actor.turn->release();
    later([&actor] { actor.turn->release(); });
  }
  bool is_stopped(const Actor& actor) const { return stopped_[static_cast<std::size_t>(actor.rank)]; }

  // All actors sleep and nothing is going to happen: say so, and let end whom it can be told to without harm. Trainers
  // and agents that wait for messages can; where there are none, trainers; where there are none of these either, the
  // rest.
  void look_for_deadlock() {
    if (running_ > 0 || events_ > 0 || (sleepers_.empty() && held_.empty())) return;
    const bool waiting = std::any_of(sleepers_.begin(), sleepers_.end(),
                                     [&](const Actor* each) { return !is_stopped(*each); });
    if (waiting && deadlock_.empty()) deadlock_ = account();
    end_stopped();
    if (running_ > 0) return;
    const std::vector<Actor*> all = sleepers_;
    const auto end = [&](const auto& chosen) {
      for (Actor* each : all)
        if (chosen(*each)) {
          each->doomed = true;
          wake(*each);
        }
      return running_ > 0;
    };
    if (end([](const Actor& a) { return a.reason.kind == Reason::Kind::kMessage; })) return;
    if (end([](const Actor& a) { return a.trainer && a.reason.kind == Reason::Kind::kChannel; })) return;
    end([](const Actor& a) { return a.reason.kind == Reason::Kind::kChannel; });
  }

  void end_stopped() {
    for (std::size_t rank = 0; rank < stopped_.size(); ++rank)
      if (stopped_[rank]) end_stopped_(static_cast<int>(rank));
  }

  std::string account() const {
    constexpr std::size_t kMost = 6;
    std::vector<const Actor*> all(sleepers_.begin(), sleepers_.end());
    std::sort(all.begin(), all.end(), [](const Actor* a, const Actor* b) {
      return std::pair(!a->trainer, a->rank) < std::pair(!b->trainer, b->rank);
    });
    std::string text = "the strategy dead-locks: virtual time cannot advance past " +
                       std::to_string(s4u::Engine::get_clock()) + " s; ";
    for (std::size_t i = 0; i < std::min(kMost, all.size()); ++i)
      text += (i == 0 ? "" : ", ") + describe_sleep(*all[i]);
    if (all.size() > kMost) text += ", and " + std::to_string(all.size() - kMost) + " more";
    return text;
  }

  Network network_;
  Actor* current_ = nullptr;      // the running actor; null in SimGrid's own context
  std::vector<Actor*> sleepers_;  // each knows its place
  std::vector<Actor*> trainers_;  // by rank; null where there is none any more
  std::vector<bool> stopped_;     // by rank
  std::vector<Actor*> held_;      // woken while their rank was stopped
  std::function<void(int)> end_stopped_;
  std::vector<std::function<void()>> queue_;
  std::size_t running_ = 0;  // actors that run or will without anything else happening
  std::size_t events_ = 0;   // alarms, callbacks and messages to come
  std::size_t started_ = 0;
  std::size_t ended_ = 0;
  std::string deadlock_;
};

Scheduler::Scheduler(const Cluster& cluster) : impl_(std::make_unique<Impl>(cluster)) {}
Scheduler::~Scheduler() = default;
int Scheduler::size() const { return impl_->size(); }
Seconds Scheduler::now() const { return Seconds(s4u::Engine::get_clock()); }
void Scheduler::spawn(const std::string& name, int rank, bool trainer, std::function<void()> body) {
  impl_->spawn(name, rank, trainer, std::move(body));
}
void Scheduler::run() { impl_->run(); }
void Scheduler::sleep(Gate& gate, const Reason& reason, Deadline deadline) {
  Gate* const one = &gate;
  impl_->sleep({&one, 1}, reason, deadline);
}
void Scheduler::sleep(std::span<Gate* const> gates, const Reason& reason, Deadline deadline) {
  impl_->sleep(gates, reason, deadline);
}
void Scheduler::wake(Gate& gate) { impl_->wake(gate); }
void Scheduler::wake_rank(int rank) { impl_->wake_rank(rank); }
void Scheduler::wake_everyone() { impl_->wake_everyone(); }
void Scheduler::stop(int rank) { impl_->stop(rank); }
void Scheduler::resume(int rank) { impl_->resume(rank); }
void Scheduler::on_standstill(std::function<void(int)> fn) { impl_->on_standstill(std::move(fn)); }
void Scheduler::at(Deadline date, std::function<void()> fn, bool counts) {
  impl_->at(date, std::move(fn), counts);
}
void Scheduler::transfer(int from, int to, std::uint64_t bytes, std::function<void()> fn) {
  impl_->transfer(from, to, bytes, std::move(fn));
}
const std::string& Scheduler::deadlock() const { return impl_->deadlock(); }
std::optional<Seconds> Scheduler::idle_since(int rank) const { return impl_->idle_since(rank); }
bool Scheduler::doomed() const { return impl_->current()->doomed; }
int Scheduler::rank() const { return impl_->current()->rank; }
bool Scheduler::is_trainer() const { return impl_->current()->trainer; }

}  // namespace tacit::sim
