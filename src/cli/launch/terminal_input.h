// SPDX-License-Identifier: MIT
// Hands what is typed to rank 0, which may not read the terminal itself: its process group is in the background, and
// the system would stop it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "cli/launch/output.h"

namespace tacit::cli {

// Reads nothing while this process is itself in the background.
//
// Lifetime  the loop does not run any more when it is dropped. Threads: the loop's.
class TerminalInput {
 public:
  TerminalInput(boost::asio::io_context& loop, UniqueFd to_rank);

 private:
  void wait();
  void read();

  boost::asio::posix::stream_descriptor terminal_;
  boost::asio::steady_timer background_;
  Output rank_;
};

}  // namespace tacit::cli
