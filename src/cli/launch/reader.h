// SPDX-License-Identifier: MIT
// Reads a pipe to its end, no faster than what comes out of it can be used.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string_view>

#include "cli/launch/descriptor.h"

namespace tacit::cli {

// Lifetime  the loop does not run any more when this is dropped.
// Threads   the loop's.
class Reader {
 public:
  struct Calls {
    std::function<void(std::string_view)> bytes;
    std::function<void()> end;  // once, as the last one
    // Called with a function to call when more bytes may be delivered.
    std::function<void(std::function<void()>)> when_room;
  };
  // The descriptor is this reader's alone: it is made non-blocking.
  Reader(boost::asio::io_context& loop, UniqueFd descriptor, Calls calls);

  void start();
  // Treats what is in the pipe now as its end, even if another process still holds the other side.
  void finish();
  bool over() const { return over_; }

 private:
  void wait_for_room();
  void read();
  void end();

  boost::asio::posix::stream_descriptor descriptor_;
  const Calls calls_;
  std::array<char, 16384> buffer_{};
  bool over_ = false;
};

}  // namespace tacit::cli
