// SPDX-License-Identifier: MIT
// What goes on beside a rank's own threads: a thread that reads the sockets while nobody waits, sends heartbeats, reports
// who waits for whom, and sees to it that ranks which cannot hear each other do not go on apart.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "transport/membership.h"
#include "transport/tcp/circle_watch.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/reactor.h"
#include "transport/tcp/wait_chain.h"

namespace tacit {

// What the housekeeper needs of its rank. Called without locks held.
class Household {
 public:
  virtual ~Household() = default;
  virtual Connection* connection(int peer) const = 0;  // none for the rank itself
  virtual std::uint32_t entry(int rank) const = 0;     // Endpoint::entry
  virtual bool left() const = 0;                       // the rank has said goodbye
  virtual void give_up(const Loss& loss,
                       std::uint32_t entry) = 0;                 // a peer of this entry is lost from now on
  virtual void end(const std::string& why) = 0;                  // the rank itself is lost to the others
  virtual void on_failure(const std::exception_ptr& error) = 0;  // of the housekeeper itself
};

// Threads   any, once start() was called.
// Lifetime  what it is given outlives it; stop() before connections go.
class Housekeeper {
 public:
  Housekeeper(Household& house, Reactor& reactor, const TcpOptions& options);

  // All ranks have met: from now on it counts how long this rank does not run.
  void wake_up();
  void start();
  void stop();
  // What was said of this rank before now is known afterwards.
  void catch_up();

  WaitBook& waits() { return waits_; }
  CircleWatch& circles() { return circles_; }
  const CircleWatch& circles() const { return circles_; }

  // A heartbeat, a question, an accusation or the end of somebody came from a peer.
  void on_frame(int peer, const FrameHeader& header, ConstBytes payload);
  // The peer said goodbye. `lost` is whom it lost, where that ends this rank, too: it is lost to both.
  void on_left(int peer, const std::optional<Loss>& lost);
  // Its connection closed without a goodbye. False where that does not mean that its process died; then it is judged
  // as one that is silent.
  bool on_closed(int peer);
  // The peer has never been here, so far as this rank knows: it was lost before this rank came back.
  void begin_without(int peer);
  // It had left and is here again: what is said of the process before is said first, under its entry. `take_note` makes
  // the new one known; it is called with a lock held.
  void on_return(int peer, const std::function<void()>& take_note);

 private:
  void keep_house(const std::stop_token& token);
  void beat(Seconds now);
  void report_chain(Seconds now);
  void carry(const CircleWatch::Errand& errand);
  void hear_question(int peer, const CircleQuestion& question);
  void look_soon();
  void look();
  void note_absence(Seconds now) TACIT_REQUIRES(mutex_);
  void check(int rank) const;

  Household& house_;
  Reactor& reactor_;
  const TcpOptions& options_;
  const Seconds beat_;
  const Seconds nap_;
  RealClock clock_;
  WaitBook waits_;
  CircleWatch circles_;
  ChainReport chain_;  // the thread's

  Mutex mutex_;
  Membership members_ TACIT_GUARDED_BY(mutex_);
  Seconds awake_
      TACIT_GUARDED_BY(mutex_);  // when the thread last ran, on a clock that counts a machine's sleep too

  std::mutex stop_mutex_;
  std::condition_variable_any stop_signal_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace tacit
