// SPDX-License-Identifier: MIT
// Virtual time: actors that run one at a time, the clock they share, and the network between their machines. The one
// part that talks to SimGrid while a simulation runs.
//
// An actor gives up the processor in one way only, Scheduler::sleep. Whatever wakes it, be it another actor, an alarm
// or a message, happens through a queue that SimGrid's own context works off, so that nothing else ever switches
// actors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tacit/core/clock.h"
#include "tacit/sim/cluster.h"
#include "tacit/transport/tag.h"

namespace tacit::sim {

struct Actor;

// Where actors wait for one thing. Must outlive whoever sleeps at it.
struct Gate {
  std::vector<Actor*> sleepers;
};

// What an actor sleeps for, for the account of a dead-lock.
struct Reason {
  enum class Kind { kMessage, kChannel, kTask, kTime };
  Kind kind = Kind::kTime;
  int peer = 0;                // for kMessage
  std::optional<Tag> tag{};    // for kMessage
  const char* task = nullptr;  // for kTask
};

// One per process: SimGrid has one engine.
class Scheduler {
 public:
  explicit Scheduler(const Cluster& cluster);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  int size() const;
  Seconds now() const;

  // A trainer is the actor that owns a rank; the others are its tasks. body must not throw.
  void spawn(const std::string& name, int rank, bool trainer, std::function<void()> body);
  // Runs until the last actor has ended. Throws Bug where SimGrid could not go on.
  void run();

  // Puts the running actor to sleep until the gate is woken or the deadline has passed.
  void sleep(Gate& gate, const Reason& reason, Deadline deadline = kNever);
  // The same at several gates: the first that is woken counts.
  void sleep(std::span<Gate* const> gates, const Reason& reason, Deadline deadline = kNever);
  // Wakes whoever sleeps there. From an actor or from a callback.
  void wake(Gate& gate);
  // Wakes all actors of a rank, or all there are.
  void wake_rank(int rank);
  void wake_everyone();

  // The actors of a rank do nothing until they may go on; what wakes them meanwhile does so then.
  void stop(int rank);
  void resume(int rank);
  // Called where nothing is going to happen and a rank is still stopped: fn ends it.
  void on_standstill(std::function<void(int rank)> fn);

  // Calls fn at that time, on no actor. fn wakes and delivers; it does not sleep. Where nothing would happen but this,
  // and it does not count, virtual time is taken to stand still.
  void at(Deadline date, std::function<void()> fn, bool counts = true);
  // Carries so many bytes and then calls fn, on no actor. Throws InvalidConfig where the platform has no way.
  void transfer(int from, int to, std::uint64_t bytes, std::function<void()> fn);

  // Why virtual time cannot advance, once that has happened; empty before.
  const std::string& deadlock() const;
  // Whether the running actor was woken for it and must end.
  bool doomed() const;

  // Since when a rank's trainer has been asleep for a task of its own rank; nothing where it is not.
  std::optional<Seconds> idle_since(int rank) const;

  // The running actor's rank, and whether it is its trainer.
  int rank() const;
  bool is_trainer() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tacit::sim
