// SPDX-License-Identifier: MIT
// Reads what the ranks of this machine tell their launcher, as they write it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <vector>

#include "cli/launch/descriptor.h"
#include "world/launcher_note.h"

namespace tacit::cli {

// Memory with a byte per rank of the job, which the ranks inherit.
//
// Lifetime  the loop does not run any more when it is dropped. Threads: the loop's.
class Notes {
 public:
  using Noted = std::function<void(int rank, LauncherNote note)>;
  // Throws InvalidConfig.
  Notes(boost::asio::io_context& loop, int ranks, Noted noted);

  int descriptor() const { return memory_.get(); }
  // Calls `noted` for what is new. Does so by itself ten times a second; whoever needs to know all asks for it.
  void look();

 private:
  void look_again();

  const UniqueFd memory_;
  const Noted noted_;
  boost::asio::steady_timer timer_;
  std::vector<char> known_;
};

}  // namespace tacit::cli
