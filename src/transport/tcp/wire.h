// SPDX-License-Identifier: MIT
// What carries a stream's bytes: a socket. In tests it is memory, so that everything above it, TLS included, runs in
// one thread in whatever order a seed says.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <span>
#include <string>

#include "tacit/core/views.h"

namespace tacit {

// Nothing blocks.
//
// Threads  one reader, one writer and one that waits or cancels at a time.
class Wire {
 public:
  enum class Result { kDone, kAgain, kClosed, kFailed };
  enum class Ready { kRead, kWrite };
  // Told on the executor: true once the wire is, or may be, ready; false where the wait was cancelled.
  using WhenReady = std::function<void(bool ready)>;

  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Some bytes, into `first` and, where that is full, into `second`.
  virtual Result read(Bytes first, Bytes second, std::size_t& count) = 0;
  // Takes some bytes off the front of `parts`, which follow each other. kDone: took all.
  virtual Result write(std::span<const ConstBytes> parts, std::size_t& count) = 0;
  virtual std::string read_why() const = 0;   // the reader's
  virtual std::string write_why() const = 0;  // the writer's

  // As long as it is ready, each new wait is told.
  virtual void wait(Ready what, WhenReady then) = 0;
  virtual void cancel() = 0;
  virtual boost::asio::any_io_executor executor() = 0;

  virtual void shut_down() = 0;       // both directions; whoever waits learns of it
  virtual void finish_writing() = 0;  // the other side reads to the end of what was written
  virtual void close() = 0;           // of no more use; waits are cancelled
  virtual bool all_arrived() const = 0;

  // Throw boost::system::system_error where the connection is gone.
  virtual boost::asio::ip::tcp::endpoint local() const = 0;
  virtual boost::asio::ip::tcp::endpoint remote() const = 0;
};

}  // namespace tacit
