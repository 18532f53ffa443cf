// SPDX-License-Identifier: MIT
// A connection that does not block, plain or encrypted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "tacit/core/views.h"
#include "transport/tcp/tls.h"
#include "transport/tcp/wire.h"

namespace tacit {

// Threads  one reader and one writer at a time.
class Stream {
 public:
  using Result = Wire::Result;
  using Ready = Wire::Ready;
  using Socket = boost::asio::ip::tcp::socket;
  enum class Role { kServer, kClient };

  // Without a context the stream is plain.
  Stream(std::unique_ptr<Wire> wire, const TlsContext* tls, Role role);
  Stream(Socket socket, const TlsContext* tls, Role role);

  Result handshake();
  // Some bytes, into `first` and, where that is full, into `second`.
  Result read(Bytes first, Bytes second, std::size_t& count);
  // Bytes that were taken from the wire and not read yet: no event will tell of them. A part of a record may be all
  // that there is, so that the next read says kAgain.
  bool holds_input() const;
  // Takes some bytes off the front of `parts`, which follow each other. kDone: took all, and the wire has it.
  Result write(std::span<const ConstBytes> parts, std::size_t& count);

  // Waits: one caller at a time. `then` is told on the executor, with false where the wait was cancelled.
  void wait(Ready what, Wire::WhenReady then) { wire_->wait(what, std::move(then)); }
  void cancel() { wire_->cancel(); }
  boost::asio::any_io_executor executor() { return wire_->executor(); }

  // Ends both directions; whoever waits for the stream learns of it.
  void shut_down() { wire_->shut_down(); }
  void finish_writing() { wire_->finish_writing(); }
  void close() { wire_->close(); }
  bool all_arrived() const { return wire_->all_arrived(); }  // the other side has everything we sent

  // Throw boost::system::system_error where the connection is gone.
  boost::asio::ip::tcp::endpoint local() const { return wire_->local(); }
  boost::asio::ip::tcp::endpoint remote() const { return wire_->remote(); }
  bool same_machine() const;  // both ends have one address

  bool encrypted() const { return tls_ != nullptr; }
  std::string read_why() const;   // the reader's
  std::string write_why() const;  // the writer's
  // Of everything so far, with what TLS adds.
  std::uint64_t bytes_in() const;
  std::uint64_t bytes_out() const;
  // What TLS has added to what was read and written; none where it is plain.
  std::uint64_t overhead_in() const;
  std::uint64_t overhead_out() const;
  std::uint64_t key_updates() const;  // of what we write; none where it is plain

 private:
  Result write_tls(std::span<const ConstBytes> parts, std::size_t& count) TACIT_REQUIRES(mutex_);

  const std::unique_ptr<Wire> wire_;
  mutable Mutex mutex_;  // OpenSSL's sessions take one thread at a time; plain wires need no lock
  std::unique_ptr<TlsSession> tls_;
  std::vector<std::byte> record_ TACIT_GUARDED_BY(mutex_);  // small parts, put together
  std::uint64_t plain_in_ = 0;                              // the reader's
  std::uint64_t plain_out_ = 0;                             // the writer's
};

}  // namespace tacit
