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
  // AES-GCM is safe for 2^24.5 full records under one key (RFC 8446, 5.5). Each side counts those that it writes.
  static constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 23U;

  TlsContext(const JobKey& key, const std::string& job, std::uint64_t records_per_key = kRecordsPerKey);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  SSL_CTX* get() const { return context_.get(); }
  SSL_SESSION* make_session(SSL* ssl) const;
  const std::string& identity() const { return identity_; }
  std::uint64_t records_per_key() const { return records_per_key_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  const JobKey key_;
  const std::string identity_;
  const std::uint64_t records_per_key_;
  std::unique_ptr<SSL_CTX, Free> context_;
};

// One TLS session over a wire. What OpenSSL wants to send is collected and goes out in few large
// writes; a call to the kernel per record of 16 KiB would cost more than the encryption. Until both sides have proven the
// key, a session has buffers for the handshake and no more, and a server's has nothing before the first word: it may be a
// stranger's, and there may be thousands.
//
// Threads  one at a time.
class TlsSession {
 public:
  TlsSession(const TlsContext& context, Wire& wire, bool server)
      : context_(context), wire_(wire), server_(server) {}
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  using Result = Wire::Result;
  Result handshake();
  Result read(Bytes into, std::size_t& count);
  bool holds_input() const {
    return ssl_ && SSL_has_pending(ssl_.get()) == 1;
  }  // read-ahead, whole records or not
  // Takes some of `data`; what it took is ours, and flush() sends it.
  Result write(ConstBytes data, std::size_t& count);
  Result flush();  // kAgain: the wire takes no more now
  bool unsent() const { return out_begin_ < out_end_; }
  const std::string& why() const { return why_; }
  std::uint64_t bytes_in() const { return bytes_in_; }
  std::uint64_t bytes_out() const { return bytes_out_; }  // collected ones included
  // What TLS has added to the data so far, the handshake included. In: of the records that were read, not of what lies
  // behind them.
  std::uint64_t overhead_in() const { return records_in_ - data_in_ - pending(); }
  std::uint64_t overhead_out() const { return bytes_out_ - data_out_; }
  std::uint64_t key_updates() const { return key_updates_; }  // of what we write

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  static const BIO_METHOD* wire_method();
  static int bio_write(BIO* bio, const char* data, int count);
  static int bio_read(BIO* bio, char* into, int count);
  static long bio_control(BIO* bio, int command, long number, void* pointer);
  static void on_record(int written, int version, int type, const void* header, std::size_t length, SSL* ssl,
                        void* self);
  Result begin();
  Result explain(int returned);
  Result renew_key();
  // Of the record in hand, decrypted and not read.
  std::uint64_t pending() const { return ssl_ ? static_cast<std::uint64_t>(SSL_pending(ssl_.get())) : 0; }

  static constexpr std::size_t kOutBytes = std::size_t{256} * 1024;
  static constexpr std::size_t kInBytes = std::size_t{128} * 1024;  // many records per call to the kernel
  static constexpr std::size_t kRecordRoom =
      std::size_t{17} * 1024;  // a full record, encrypted, and a new key

  const TlsContext& context_;
  Wire& wire_;
  const bool server_;
  std::unique_ptr<SSL, Free> ssl_;     // from the first word on
  std::vector<std::byte> first_word_;  // what came before OpenSSL was there to read it
  std::vector<char> out_;              // kOutBytes once there is data to write
  std::size_t out_begin_ = 0;
  std::size_t out_end_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
  std::uint64_t records_in_ = 0;  // bytes of whole records
  std::uint64_t data_in_ = 0;
  std::uint64_t data_out_ = 0;
  std::uint64_t records_ = 0;  // written under the key in use
  std::uint64_t key_updates_ = 0;
  bool large_input_ = false;  // OpenSSL takes in kInBytes at a time
  bool ended_ = false;        // the wire gave its end
  std::string why_;
};

}  // namespace tacit
