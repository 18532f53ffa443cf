// SPDX-License-Identifier: MIT
// TLS 1.3 whose only credential is the job key: both sides prove that they have it, nobody needs a certificate, and the
// handshake's own Diffie-Hellman exchange keeps old traffic safe should the key leak later.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tacit/core/views.h"
#include "tacit/transport/job_key.h"
#include "transport/tcp/wire.h"

namespace tacit {

// What all connections of a rank share.
class TlsContext {
 public:
  TlsContext(const JobKey& key, const std::string& job);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  SSL_CTX* get() const { return context_.get(); }
  SSL_SESSION* make_session(SSL* ssl) const;
  const std::string& identity() const { return identity_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  const JobKey key_;
  const std::string identity_;
  std::unique_ptr<SSL_CTX, Free> context_;
};

// One TLS session over a wire. What OpenSSL wants to send is collected and goes out in few large
// writes; a call to the kernel per record of 16 KiB would cost more than the encryption.
//
// Threads  one at a time.
class TlsSession {
 public:
  TlsSession(const TlsContext& context, Wire& wire, bool server);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  using Result = Wire::Result;
  Result handshake();
  Result read(Bytes into, std::size_t& count);
  bool holds_input() const { return SSL_has_pending(ssl_.get()) == 1; }  // read-ahead, whole records or not
  // Takes some of `data`; what it took is ours, and flush() sends it.
  Result write(ConstBytes data, std::size_t& count);
  Result flush();  // kAgain: the wire takes no more now
  bool unsent() const { return out_begin_ < out_end_; }
  const std::string& why() const { return why_; }
  std::uint64_t bytes_in() const { return bytes_in_; }
  std::uint64_t bytes_out() const { return bytes_out_; }  // collected ones included

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  static const BIO_METHOD* wire_method();
  static int bio_write(BIO* bio, const char* data, int count);
  static int bio_read(BIO* bio, char* into, int count);
  static long bio_control(BIO* bio, int command, long number, void* pointer);
  Result explain(int returned);

  static constexpr std::size_t kOutBytes = std::size_t{256} * 1024;
  static constexpr std::size_t kRecordRoom = std::size_t{17} * 1024;  // a full record, encrypted

  Wire& wire_;
  std::unique_ptr<SSL, Free> ssl_;
  std::vector<char> out_ = std::vector<char>(kOutBytes);
  std::size_t out_begin_ = 0;
  std::size_t out_end_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
  bool ended_ = false;  // the wire gave its end
  std::string why_;
};

}  // namespace tacit
