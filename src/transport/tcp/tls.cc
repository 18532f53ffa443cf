// SPDX-License-Identifier: MIT
#include "transport/tcp/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "tacit/core/error.h"

namespace tacit {
namespace {

// TLS_AES_128_GCM_SHA256: what CPUs encrypt fastest. Its two bytes are its number in the protocol.
constexpr const char* kSuite = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> kSuiteNumber{0x13, 0x01};

const TlsContext& context_of(SSL* ssl) {
  return *static_cast<const TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

// The client offers the key under the job's name.
int use_key(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* length,
            SSL_SESSION** session) {
  const TlsContext& context = context_of(ssl);
  *session = context.make_session(ssl);
  if (*session == nullptr) return 0;
  *identity = reinterpret_cast<const unsigned char*>(context.identity().data());
  *length = context.identity().size();
  return 1;
}

// The server knows one job. Without a session OpenSSL looks for a certificate, finds none, and refuses.
int find_key(SSL* ssl, const unsigned char* identity, std::size_t length, SSL_SESSION** session) {
  const TlsContext& context = context_of(ssl);
  const std::string& own = context.identity();
  *session = nullptr;
  if (length != own.size() || std::memcmp(identity, own.data(), length) != 0) return 1;
  *session = context.make_session(ssl);
  return *session == nullptr ? 0 : 1;
}

std::string last_error() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    if (reason != nullptr && text.empty()) text = reason;
  }
  return text.empty() ? "TLS failed" : text;
}

}  // namespace

TlsContext::TlsContext(const JobKey& key, const std::string& job, std::uint64_t records_per_key)
    : key_(key),
      identity_("tacit/" + job),
      records_per_key_(records_per_key),
      context_(SSL_CTX_new(TLS_method())) {
  SSL_CTX* context = context_.get();
  TACIT_CHECK(context != nullptr, last_error());
  SSL_CTX_set_app_data(context, this);
  bool ok = SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1;
  ok = ok && SSL_CTX_set_ciphersuites(context, kSuite) == 1;
  ok = ok && SSL_CTX_set_num_tickets(context, 0) == 1;  // nothing to resume
  TACIT_CHECK(ok, "OpenSSL refuses TLS 1.3 with " + std::string(kSuite) + ": " + last_error());
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_psk_use_session_callback(context, use_key);
  SSL_CTX_set_psk_find_session_callback(context, find_key);
}

SSL_SESSION* TlsContext::make_session(SSL* ssl) const {
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kSuiteNumber.data());
  SSL_SESSION* session = SSL_SESSION_new();
  const auto* secret = reinterpret_cast<const unsigned char*>(key_.bytes().data());
  if (cipher == nullptr || session == nullptr ||
      SSL_SESSION_set1_master_key(session, secret, JobKey::kBytes) != 1 ||
      SSL_SESSION_set_cipher(session, cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

const BIO_METHOD* TlsSession::wire_method() {
  static const BIO_METHOD* const shared = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tacit wire");
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
  }();
  return shared;
}

TlsSession::Result TlsSession::begin() {
  if (server_) {
    std::array<std::byte, 1024> word{};
    std::size_t count = 0;
    const Result result = wire_.read(word, {}, count);
    if (result == Result::kFailed) why_ = wire_.read_why();
    if (result != Result::kDone) return result;
    bytes_in_ += count;
    first_word_.assign(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::unique_ptr<SSL, Free> ssl(SSL_new(context_.get()));
  BIO* bio = ssl ? BIO_new(wire_method()) : nullptr;
  if (bio == nullptr) {
    why_ = last_error();
    return Result::kFailed;
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);  // which owns it now
  SSL_set_msg_callback(ssl.get(), on_record);
  SSL_set_msg_callback_arg(ssl.get(), this);
  server_ ? SSL_set_accept_state(ssl.get()) : SSL_set_connect_state(ssl.get());
  ssl_ = std::move(ssl);
  return Result::kDone;
}

int TlsSession::bio_write(BIO* bio, const char* data, int count) {
  auto& self = *static_cast<TlsSession*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (self.out_begin_ == self.out_end_) self.out_begin_ = self.out_end_ = 0;
  const std::size_t needed = self.out_end_ + static_cast<std::size_t>(count);
  if (needed > kOutBytes) {
    BIO_set_retry_write(bio);
    return -1;
  }
  if (needed > self.out_.size()) {  // the handshake's
    try {
      self.out_.resize(needed);
    } catch (const std::bad_alloc&) {  // OpenSSL, which called us, knows no exceptions
      self.why_ = "there is no memory for " + std::to_string(needed) + " bytes to send";
      return -1;
    }
  }
  std::memcpy(&self.out_[self.out_end_], data, static_cast<std::size_t>(count));
  self.out_end_ += static_cast<std::size_t>(count);
  self.bytes_out_ += static_cast<std::size_t>(count);
  return count;
}

int TlsSession::bio_read(BIO* bio, char* into, int count) {
  auto& self = *static_cast<TlsSession*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  std::size_t got = 0;
  const Bytes room(reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(count));
  if (!self.first_word_.empty()) {
    got = std::min(room.size(), self.first_word_.size());
    copy<std::byte>(ConstBytes(self.first_word_).first(got), room.first(got));
    self.first_word_.erase(self.first_word_.begin(),
                           self.first_word_.begin() + static_cast<std::ptrdiff_t>(got));
    return static_cast<int>(got);
  }
  switch (self.wire_.read(room, {}, got)) {
    case Result::kDone:
      self.bytes_in_ += got;
      return static_cast<int>(got);
    case Result::kClosed:
      self.ended_ = true;
      return 0;
    case Result::kAgain:
      BIO_set_retry_read(bio);
      return -1;
    case Result::kFailed:
      self.why_ = self.wire_.read_why();
      return -1;
  }
  return -1;
}

long TlsSession::bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// The last two bytes of a record's header are the length of the rest.
void TlsSession::on_record(int written, int, int type, const void* header, std::size_t length, SSL*,
                           void* self) {
  if (written != 0 || type != SSL3_RT_HEADER || length != SSL3_RT_HEADER_LENGTH) return;
  const auto* bytes = static_cast<const unsigned char*>(header);
  static_cast<TlsSession*>(self)->records_in_ += length + (std::uint64_t{bytes[3]} << 8U) + bytes[4];
}

TlsSession::Result TlsSession::explain(int returned) {
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Result::kAgain;
    case SSL_ERROR_ZERO_RETURN:
      return Result::kClosed;
    default: {
      const std::string error = last_error();
      if (ended_) return Result::kClosed;
      if (why_.empty()) why_ = error;
      return Result::kFailed;
    }
  }
}

TlsSession::Result TlsSession::handshake() {
  if (!ssl_) {
    const Result begun = begin();
    if (begun != Result::kDone) return begun;
  }
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl_.get());
  const Result result = returned == 1 ? Result::kDone : explain(returned);
  const Result sent = flush();  // an alert that says why, too
  if (result != Result::kDone) return result;
  return sent;
}

TlsSession::Result TlsSession::read(Bytes into, std::size_t& count) {
  ERR_clear_error();
  // The handshake's buffer goes once nothing of the handshake's last read is left in it.
  if (!large_input_ && !holds_input() && SSL_free_buffers(ssl_.get()) == 1) {
    SSL_set_default_read_buffer_len(ssl_.get(), kInBytes);
    large_input_ = true;
  }
  const int most = static_cast<int>(std::min(into.size(), std::size_t{1} << 30U));
  const int returned = SSL_read(ssl_.get(), into.data(), most);
  if (returned <= 0) return explain(returned);
  count = static_cast<std::size_t>(returned);
  data_in_ += count;
  return Result::kDone;
}

TlsSession::Result TlsSession::write(ConstBytes data, std::size_t& count) {
  constexpr std::size_t kRecord = std::size_t{16} * 1024;
  count = 0;
  out_.resize(kOutBytes);
  while (count < data.size()) {
    if (out_.size() - out_end_ < kRecordRoom) {
      const Result flushed = flush();
      if (flushed != Result::kDone) return flushed;
    }
    if (records_ >= context_.records_per_key()) {
      const Result renewed = renew_key();
      if (renewed != Result::kDone) return renewed;
    }
    ERR_clear_error();
    const std::size_t piece = std::min(kRecord, data.size() - count);
    const int returned = SSL_write(ssl_.get(), data.data() + count, static_cast<int>(piece));
    if (returned <= 0) return explain(returned);
    count += static_cast<std::size_t>(returned);
    data_out_ += static_cast<std::size_t>(returned);
    ++records_;
  }
  return Result::kDone;
}

// Between two records, never in one: there is room for what OpenSSL writes, so no write of it is ever pending. The other
// side is not asked for a new key in return, as it counts what it writes itself.
TlsSession::Result TlsSession::renew_key() {
  ERR_clear_error();
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return explain(0);
  const int returned = SSL_do_handshake(ssl_.get());
  if (returned != 1) return explain(returned);
  records_ = 0;
  ++key_updates_;
  return Result::kDone;
}

TlsSession::Result TlsSession::flush() {
  while (out_begin_ < out_end_) {
    const std::array<ConstBytes, 1> rest{
        std::as_bytes(std::span(out_).subspan(out_begin_, out_end_ - out_begin_))};
    std::size_t sent = 0;
    const Result result = wire_.write(rest, sent);
    out_begin_ += sent;
    if (result == Result::kDone) continue;
    if (result != Result::kAgain) why_ = wire_.write_why();
    return result;
  }
  out_begin_ = out_end_ = 0;
  return Result::kDone;
}

}  // namespace tacit
