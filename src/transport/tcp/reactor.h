// SPDX-License-Identifier: MIT
// Who looks after the sockets. A thread that waits for a message does it itself: a message that went through another
// thread first would cost two switches between threads, several times what the network of one machine costs. One of the
// waiting threads leads: it sleeps in the kernel until a socket is ready and handles it, whoever it is for. The others
// sleep until theirs is done or the lead is free. While nobody waits, the housekeeper leads.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "tacit/core/clock.h"
#include "transport/gate.h"

namespace tacit {

// Threads  any.
class Reactor {
 public:
  boost::asio::io_context& io() { return io_; }

  // Waits until over() or the deadline; says whether over().
  template <class Over>
  bool wait_until(const Over& over, Deadline deadline) {
    waits_.fetch_add(1);
    while (!over()) {
      if (clock_.now() >= deadline) return over();
      if (try_lead()) {
        const Lead lead(*this);
        // Whoever made it over before we led did not wake us: look again.
        if (!over()) io_.run_one_until(RealClock::point(deadline));
      } else {
        if (housekeeping_.load()) nudge();
        gate_.wait_until([&] { return over() || !led_.load(); }, {}, deadline);
      }
    }
    return true;
  }

  // Something that others may wait for has changed.
  void wake() {
    gate_.wake();
    if (led_.load() && leading_here() != this) nudge();
  }

  // For the housekeeper: looks after the sockets until the deadline or until somebody waits, if nobody has waited since
  // the last call; says whether it did.
  bool lead_while_idle(Deadline deadline) {
    const std::uint64_t waits = waits_.load();
    if (std::exchange(waits_seen_, waits) != waits || !try_lead()) return false;
    const Lead lead(*this);
    housekeeping_.store(true);
    while (waits_.load() == waits && clock_.now() < deadline) io_.run_one_until(RealClock::point(deadline));
    return true;
  }

  // Ends the housekeeper's lead.
  void end_idle() {
    waits_.fetch_add(1);
    nudge();
  }

  // Ends a lead that sleeps.
  void nudge() {
    boost::asio::post(io_, [] {});
  }

 private:
  // Which reactor this thread leads, if one.
  static const Reactor*& leading_here() {
    static thread_local const Reactor* leading = nullptr;
    return leading;
  }
  bool try_lead() {
    if (led_.exchange(true)) return false;
    leading_here() = this;
    return true;
  }
  // Gives the lead back in the end, also where a handler throws.
  class Lead {
   public:
    explicit Lead(Reactor& reactor) : reactor_(reactor) {}
    ~Lead() {
      leading_here() = nullptr;
      reactor_.housekeeping_.store(false);
      reactor_.led_.store(false);
      reactor_.gate_.wake();
    }
    Lead(const Lead&) = delete;
    Lead& operator=(const Lead&) = delete;

   private:
    Reactor& reactor_;
  };

  RealClock clock_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stay_ =
      boost::asio::make_work_guard(io_);
  Gate gate_;
  std::atomic<bool> led_{false};
  std::atomic<bool> housekeeping_{false};  // the housekeeper leads
  std::atomic<std::uint64_t> waits_{0};    // waits that went to sleep, ever
  std::uint64_t waits_seen_ = 0;           // the housekeeper's
};

}  // namespace tacit
