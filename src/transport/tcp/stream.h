// SPDX-License-Identifier: MIT
// A connected socket that does not block, plain or encrypted.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <span>
#include <string>

#include "tacit/core/mutex.h"
#include "tacit/core/views.h"
#include "transport/tcp/tls.h"

namespace tacit {

// Threads  one reader and one writer at a time.
class Stream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  enum class Role { kServer, kClient };

  // Without a context the stream is plain.
  Stream(Socket socket, const TlsContext* tls, Role role);

  using Result = TlsSession::Result;
  Result handshake();
  // Some bytes, into `first` and, where that is full, into `second`.
  Result read(Bytes first, Bytes second, std::size_t& count);
  // Bytes that were taken from the kernel and not read yet: no event will tell of them. A part of a record may be all
  // that there is, so that the next read says kAgain.
  bool holds_input() const;
  // Takes some bytes off the front of `parts`, which follow each other. kDone: took all, and the kernel has it.
  Result write(std::span<const ConstBytes> parts, std::size_t& count);

  // Ends both directions; whoever waits for the socket learns of it. The descriptor stays until the stream goes.
  void shut_down();
  void finish_writing();
  bool all_arrived() const;  // the other machine's kernel has everything we sent

  bool same_machine();  // both ends have one address

  Socket& socket() { return socket_; }
  bool encrypted() const { return tls_ != nullptr; }
  std::string read_why() const;   // the reader's
  std::string write_why() const;  // the writer's
  // Of everything so far, with what TLS adds.
  std::uint64_t bytes_in() const;
  std::uint64_t bytes_out() const;

 private:
  Result write_plain(std::span<const ConstBytes> parts, std::size_t& count);
  Result write_tls(std::span<const ConstBytes> parts, std::size_t& count) TACIT_REQUIRES(mutex_);

  Socket socket_;
  mutable Mutex mutex_;  // OpenSSL's sessions take one thread at a time; plain sockets need no lock
  std::unique_ptr<TlsSession> tls_;
  std::vector<std::byte> record_ TACIT_GUARDED_BY(mutex_);  // small parts, put together
  std::uint64_t plain_in_ = 0;                              // the reader's
  std::uint64_t plain_out_ = 0;                             // the writer's
  std::string read_why_;                                    // the reader's
  std::string write_why_;                                   // the writer's
};

}  // namespace tacit
