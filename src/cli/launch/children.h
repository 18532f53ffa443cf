// SPDX-License-Identifier: MIT
// The processes that a launcher or a node started: their output, their end, and signals to them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <memory>
#include <vector>

#include "cli/launch/guard.h"
#include "cli/launch/notes.h"
#include "cli/launch/spawn.h"
#include "cli/launch/watcher.h"

namespace tacit::cli {

// A child is over when it has ended, its output has been read to the end, and nothing is left of its process group.
// What it leaves running has 2 seconds to end by itself, such as the tee at the end of a pipe, and is killed then.
//
// Lifetime  the guard and the watcher outlive it; the loop does not run any more when it is dropped. Children that live
//           then are killed.
// Threads   the loop's, which is the only thread of the process.
class Children {
 public:
  Children(boost::asio::io_context& loop, const Guard& guard, Watcher& watcher);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // `input` becomes stdin, pipes to this process become stdout and stderr. An id may be given again once its child is
  // over, but not by a watcher that is just being told so. Throws InvalidConfig.
  void start(int id, SpawnPlan plan, int input);
  // Memory for the notes of so many ranks; the watcher is told of them as they come, and of all before an end.
  int make_notes(int ranks);
  // As if nobody had noted anything of this rank.
  void clear_notes(int rank) { notes_->clear(rank); }
  // To all that are not over, and to what they started.
  void signal(int number);
  void signal(int id, int number);
  bool all_stopped() const;
  bool any() const;  // that is not over

 private:
  class Child;

  void wait_for_ends();
  void reap();

  boost::asio::io_context& loop_;
  const Guard& guard_;
  Watcher& watcher_;
  boost::asio::signal_set ends_;
  std::unique_ptr<Notes> notes_;
  std::vector<std::unique_ptr<Child>> children_;
};

}  // namespace tacit::cli
