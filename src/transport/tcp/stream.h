// SPDX-License-Identifier: MIT
// A connection that does not block, plain or encrypted. Between ranks of one machine either direction may leave the wire
// for a ring (ring.h): from then on the wire carries bells alone, single bytes that say "look at the rings", and tells
// when the other side is gone.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "tacit/core/views.h"
#include "transport/tcp/ring.h"
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
  // Bytes that were taken from the wire, or lie in a ring, and are not read yet: no event will tell of them. A part of a
  // record may be all that there is, so that the next read says kAgain.
  bool holds_input();
  // Takes some bytes off the front of `parts`, which follow each other. kDone: took all, and the wire has it.
  Result write(std::span<const ConstBytes> parts, std::size_t& count);

  // The writer's, and the reader's: what is written or read after this call.
  void write_through(RingWriter ring);
  void read_through(RingReader ring);
  // The reader's: takes in the bells, and from now on the next bytes in the ring ring one. Nothing without a ring.
  void hear_bells();
  // The reader's: what bells for the other side's writer have cost since the last call.
  std::uint64_t take_bell_bytes() { return std::exchange(bell_bytes_, 0); }
  bool by_ring() const { return bells_only_.load(); }  // what we send
  // Whether what could not be written waits for the wire. Else the other side rings once its ring has room.
  bool wants_wire() const;

  // Waits: one caller at a time. `then` is told on the executor, with false where the wait was cancelled.
  void wait(Ready what, Wire::WhenReady then) { wire_->wait(what, std::move(then)); }
  void cancel() { wire_->cancel(); }
  boost::asio::any_io_executor executor() { return wire_->executor(); }

  // Ends both directions; whoever waits for the stream learns of it.
  void shut_down() { wire_->shut_down(); }
  void finish_writing() { wire_->finish_writing(); }
  void close() { wire_->close(); }
  // The writer's: the other side has everything we sent.
  bool all_arrived() const { return (!ring_out_ || ring_out_->all_taken()) && wire_->all_arrived(); }

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
  // What TLS and bells have added to what was read and written, without the bells that take_bell_bytes() tells of.
  std::uint64_t overhead_in() const;
  std::uint64_t overhead_out() const;
  std::uint64_t key_updates() const;  // of what we write; none where it is plain

 private:
  Result write_tls(std::span<const ConstBytes> parts, std::size_t& count) TACIT_REQUIRES(mutex_);
  Result read_wire(Bytes first, Bytes second, std::size_t& count);
  Result read_ring(Bytes first, Bytes second, std::size_t& count);
  Result write_ring(std::span<const ConstBytes> parts, std::size_t& count);
  Result ring_bell() TACIT_REQUIRES(mutex_);
  std::uint64_t wire_bytes_out() const TACIT_REQUIRES(mutex_);

  const std::unique_ptr<Wire> wire_;
  mutable Mutex mutex_;  // OpenSSL's sessions take one thread at a time; plain wires need no lock
  std::unique_ptr<TlsSession> tls_;
  std::vector<std::byte> record_ TACIT_GUARDED_BY(mutex_);  // small parts, put together
  std::uint64_t plain_in_ = 0;                              // the reader's
  std::uint64_t plain_out_ = 0;                             // the writer's

  std::optional<RingWriter> ring_out_;                // the writer's
  std::optional<RingReader> ring_in_;                 // the reader's
  std::atomic<bool> bells_only_{false};               // on the wire, of what we send
  Result wire_end_ = Result::kAgain;                  // the reader's: how the wire ended, once it has
  std::uint64_t bell_bytes_ = 0;                      // the reader's, not counted yet
  std::uint64_t bells_ TACIT_GUARDED_BY(mutex_) = 0;  // sent, a byte each, which TLS takes for data
  std::uint64_t reader_bell_bytes_ TACIT_GUARDED_BY(mutex_) = 0;  // that the reader sent, ever
  std::uint64_t heard_ = 0;                                       // the reader's: bells
};

}  // namespace tacit
