// SPDX-License-Identifier: MIT
// What a rank does with its time of training: it computes, exchanges and waits.
#pragma once

#include "tacit/world/world.h"

namespace tacit {

// For a loop that says when it calls a strategy. What a strategy's call takes is exchange, but for the optimiser in it,
// which is computing, and for the time in which the rank was blocked while nothing that it waited for was under way.
// All the rest of the loop is computing. In virtual time the world knows better, and its numbers are taken.
//
// Lifetime  process must outlive it. Threads: the trainer's.
class TimeAccount {
 public:
  explicit TimeAccount(Process& process) : process_(process), clock_(process.tasks().clock()) {}

  // While one lives, a strategy's call goes on.
  class Exchange {
   public:
    explicit Exchange(TimeAccount& account);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

   private:
    TimeAccount& account_;
    const Seconds start_;
    const Seconds waited_;
  };
  // While one lives, in such a call, the rank computes.
  class Computation {
   public:
    explicit Computation(TimeAccount& account) : account_(account), start_(account.clock_.now()) {}
    ~Computation() { account_.exchanged_ -= account_.clock_.now() - start_; }
    Computation(const Computation&) = delete;
    Computation& operator=(const Computation&) = delete;

   private:
    TimeAccount& account_;
    const Seconds start_;
  };

  // So far, exchanging and waiting; not in virtual time.
  struct Away {
    Seconds exchanged{0};
    Seconds waited{0};
  };
  Away away() const { return {exchanged_, waited_}; }
  // So much of it was hidden behind a gradient after all.
  void take_back(const Away& hidden) {
    exchanged_ -= hidden.exchanged;
    waited_ -= hidden.waited;
  }

  // Of so many seconds of training; what is neither of the two it waited.
  TimeSpent spent(Seconds training) const;

 private:
  Process& process_;
  Clock& clock_;
  Seconds exchanged_{0};  // in strategies' calls, the optimiser's time apart
  Seconds waited_{0};     // of that
};

}  // namespace tacit
