// SPDX-License-Identifier: MIT
// Writes to a descriptor that may be slow, without stopping the loop and without changing the descriptor: stdout is
// shared with the shell, which would be surprised by O_NONBLOCK.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launch/descriptor.h"

namespace tacit::cli {

// Ordering  bytes go out in the order they were given.
// Lifetime  the loop does not run any more when this is dropped. What has not been written then is lost.
// Threads   the loop's.
class Output {
 public:
  // Calls `broken` once, with the reason, when nothing can be written any more; what is given afterwards is dropped.
  Output(boost::asio::io_context& loop, UniqueFd descriptor, std::function<void(const std::string&)> broken);

  void write(std::string_view bytes);
  // Calls back when little is waiting to be written; at once where that is so already.
  void when_room(std::function<void()> go_on);
  // Calls back when everything has been written.
  void when_empty(std::function<void()> go_on);
  // Writes what there is and closes the descriptor.
  void close();

 private:
  void wait();
  // Writes while the descriptor takes something without blocking.
  void push();
  void fail(const std::string& why);
  void tell();
  std::size_t waiting() const { return buffer_.size() - written_; }

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void(const std::string&)> broken_;
  std::string buffer_;
  std::size_t written_ = 0;  // of buffer_
  bool waits_ = false;       // for the descriptor
  std::vector<std::function<void()>> want_room_;
  std::vector<std::function<void()>> want_empty_;
};

}  // namespace tacit::cli
