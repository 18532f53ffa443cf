// SPDX-License-Identifier: MIT
#include "transport/tcp/connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cstring>
#include <utility>

#include "tacit/core/error.h"
#include "transport/sent.h"

namespace tacit {
namespace {

using Result = Stream::Result;

// One look at a socket takes in this much before others get their turn.
constexpr std::size_t kMostAtOnce = std::size_t{4} << 20U;
// Holds a small message with its header; larger ones are read straight to where they belong.
constexpr std::size_t kStagingBytes = std::size_t{16} * 1024;
// Up to here a message behind others is copied, so that its sender can go on.
constexpr std::size_t kEagerBytes = std::size_t{16} * 1024;
constexpr std::size_t kMostCopied = std::size_t{4} << 20U;
constexpr std::size_t kMostGathered = 16;  // messages per call to the kernel

std::string broken(const std::string& why) {
  return "its connection broke (" + why + "): its process ended or was killed, or the network was cut";
}

}  // namespace

// A frame that did not fit into the kernel's buffer at once.
struct Connection::Outgoing {
  Outgoing(const FrameHeader& h, ConstBytes bytes) : header(h), header_bytes(encode(h)), data(bytes) {}
  const FrameHeader header;
  const FrameHeaderBytes header_bytes;
  ConstBytes data;
  std::vector<std::byte> copy;  // what data points to, where the sender does not wait
  std::size_t written = 0;
  std::atomic<bool> done{false};

  std::size_t size() const { return kFrameHeaderBytes + data.size(); }
  void keep_copy() {
    copy.assign(data.begin(), data.end());
    data = copy;
  }
};

class Connection::SendOperation final : public Operation {
 public:
  SendOperation(Connection& connection, Tag tag, std::shared_ptr<Outgoing> out)
      : connection_(connection), tag_(tag), data_(out->data), out_(std::move(out)) {}
  SendOperation(const SendOperation&) = delete;
  SendOperation& operator=(const SendOperation&) = delete;
  ~SendOperation() override {
    if (!out_->done.load()) connection_.cancel(out_);
  }
  Arrival wait() override {
    connection_.owner_.wait(connection_.peer_, tag_, out_->done);
    return {connection_.peer_, tag_, data_};
  }
  bool ready_by(Deadline deadline) override {
    return connection_.owner_.ready_by(connection_.peer_, out_->done, deadline);
  }

 private:
  Connection& connection_;
  const Tag tag_;
  const ConstBytes data_;
  const std::shared_ptr<Outgoing> out_;
};

Connection::Connection(ConnectionOwner& owner, Inbox& inbox, Ledger& ledger, int peer,
                       std::shared_ptr<Stream> stream)
    : owner_(owner),
      inbox_(inbox),
      ledger_(ledger),
      peer_(peer),
      stream_(std::move(stream)),
      last_heard_(clock_.now().count()),
      last_sent_(clock_.now().count()),
      staging_(kStagingBytes),
      counted_in_(stream_->bytes_in()),
      counted_out_(stream_->bytes_out()) {}

Connection::~Connection() { shut_down(); }

void Connection::start() {
  arm_read();
  advance(nullptr);  // TLS may hold bytes that came with the end of the handshake
}

void Connection::advance(const std::atomic<bool>* own) {
  Found found;
  if (read_mutex_.try_lock()) {
    read_some(own, found);
    read_mutex_.unlock();
  }
  if (writing_.load() && write_mutex_.try_lock()) {
    const std::string why = write_some(own, found);
    write_mutex_.unlock();
    if (found.lost.empty()) found.lost = why;
  }
  deal_with(found);
}

void Connection::deal_with(const Found& found) {
  if (found.others) owner_.on_progress();
  if (!found.lost.empty() && open_.exchange(false)) {
    shut_down();
    owner_.on_lost(peer_, found.lost);
  }
}

void Connection::between_reads(const std::function<void()>& fn) {
  const MutexLock lock(read_mutex_);
  fn();
}

// --- in

void Connection::read_some(const std::atomic<bool>* own, Found& found) {
  try {
    for (std::size_t total = 0; open_.load() && total < kMostAtOnce;) {
      const Bytes rest = rest_of_frame();
      const Bytes stage = Bytes(staging_).subspan(staged_);
      std::size_t count = 0;
      const Result result = stream_->read(rest, stage, count);
      if (result == Result::kAgain) return;
      if (result != Result::kDone) {
        found.lost = result == Result::kClosed
                         ? "its connection closed without a goodbye: its process ended or was killed"
                         : broken(stream_->read_why());
        return;
      }
      total += count;
      last_heard_.store(clock_.now().count());
      const std::size_t direct = std::min(count, rest.size());
      if (in_frame_) (message_ ? message_->received : control_received_) += direct;
      if (in_frame_ && rest.size() == direct) end_frame(own, found);
      ConstBytes staged = ConstBytes(staging_).first(staged_ + count - direct);
      while (take_in(staged, own, found)) {
      }
      if (!staged.empty()) std::memmove(staging_.data(), staged.data(), staged.size());
      staged_ = staged.size();
      // What TLS has taken from the kernel, no event announces: it is read to its end, whoever has what it waited for.
      if (stream_->holds_input()) continue;
      // The caller has what it waited for; less than was asked for means that the kernel has no more.
      if (own != nullptr && own->load()) return;
      if (!stream_->encrypted() && count < rest.size() + stage.size()) return;
    }
    if (open_.load() && stream_->holds_input()) look_again();
  } catch (const BadFrame& bad) {
    found.lost = std::string("it sent what is not our format: ") + bad.what();
  } catch (const std::bad_alloc&) {
    found.lost = "there is no memory for its message of " + std::to_string(header_.length) + " bytes";
  }
}

// The others had their turn. It waits for the lock, because nobody else may come for what TLS holds.
void Connection::look_again() {
  boost::asio::post(stream_->executor(), [this] {
    Found found;
    {
      const MutexLock lock(read_mutex_);
      read_some(nullptr, found);
    }
    deal_with(found);
  });
}

Bytes Connection::rest_of_frame() {
  if (!in_frame_) return {};
  if (message_) return message_->landing.subspan(message_->received);
  return Bytes(control_).subspan(control_received_);
}

// Takes one frame, or the part of it that is there, off the front of `bytes`. False: what is left is no header yet.
bool Connection::take_in(ConstBytes& bytes, const std::atomic<bool>* own, Found& found) {
  if (!in_frame_) {
    if (bytes.size() < kFrameHeaderBytes) return false;
    begin_frame(bytes.first(kFrameHeaderBytes));
    bytes = bytes.subspan(kFrameHeaderBytes);
  }
  const Bytes rest = rest_of_frame();
  const std::size_t count = std::min(rest.size(), bytes.size());
  copy<std::byte>(bytes.first(count), rest.first(count));
  bytes = bytes.subspan(count);
  (message_ ? message_->received : control_received_) += count;
  if (count < rest.size()) return false;
  end_frame(own, found);
  return true;
}

void Connection::begin_frame(ConstBytes header) {
  header_ = decode_frame(header);
  if (header_.type == FrameType::kData) {
    message_ = inbox_.announce(peer_, *Tag::from_bits(header_.tag), header_.length, kFrameHeaderBytes);
  } else {
    control_.resize(header_.length);
    control_received_ = 0;
  }
  in_frame_ = true;
}

void Connection::end_frame(const std::atomic<bool>* own, Found& found) {
  in_frame_ = false;
  if (!message_) {
    owner_.on_control(peer_, header_, control_);
    return;
  }
  if (stream_->encrypted()) {
    // TLS adds what it adds; bytes of the next frame that came along are that frame's.
    const std::uint64_t wire = stream_->bytes_in() - counted_in_;
    message_->framing = wire > message_->length ? wire - message_->length : kFrameHeaderBytes;
    counted_in_ += message_->length + message_->framing;
  }
  const std::atomic<bool>* ended = inbox_.complete(message_);
  message_.reset();
  if (ended != nullptr && ended != own) found.others = true;
}

// --- out

Request Connection::send(Tag tag, ConstBytes data) {
  const FrameHeader header{FrameType::kData, tag.bits(), data.size()};
  Found found;
  std::shared_ptr<Outgoing> out;
  {
    const MutexLock lock(write_mutex_);
    std::size_t count = 0;
    if (queue_.empty() && open_.load()) {
      // Straight from the caller's memory, by the caller's thread.
      const FrameHeaderBytes head = encode(header);
      const std::array<ConstBytes, 2> parts{ConstBytes(head), data};
      const Result result = stream_->write(parts, count);
      if (result == Result::kFailed || result == Result::kClosed) found.lost = broken(stream_->write_why());
      if (result == Result::kAgain) writing_.store(true);
      if (count > 0) last_sent_.store(clock_.now().count());
    }
    out = count == kFrameHeaderBytes + data.size() ? nullptr : std::make_shared<Outgoing>(header, data);
    if (!out) {
      account(Outgoing(header, data));
    } else {
      out->written = count;
      if (data.size() <= kEagerBytes && copied_ + data.size() <= kMostCopied) {
        out->keep_copy();
        copied_ += data.size();
      }
      if (open_.load()) queue_.push_back(out);
      writing_.store(true);
    }
  }
  if (writing_.load()) arm_write();
  deal_with(found);
  if (!out || !out->copy.empty() || (out->data.empty() && open_.load()))
    return std::make_unique<SentOperation>(peer_, tag, data);
  return std::make_unique<SendOperation>(*this, tag, std::move(out));
}

void Connection::send_control(FrameHeader header, const Payload& payload) {
  header.length = payload.size();
  Found found;
  {
    const MutexLock lock(write_mutex_);
    if (!open_.load()) return;
    auto out = std::make_shared<Outgoing>(header, payload);
    out->keep_copy();
    copied_ += payload.size();
    queue_.push_back(std::move(out));
    writing_.store(true);
    found.lost = write_some(nullptr, found);
  }
  if (writing_.load()) arm_write();
  deal_with(found);
}

// Empty: all is well, though the kernel may have taken less than there is.
std::string Connection::write_some(const std::atomic<bool>* own, Found& found) {
  while (open_.load()) {
    std::vector<ConstBytes> parts;
    parts.reserve(2 * kMostGathered);
    for (const auto& out : queue_) {
      if (parts.size() >= 2 * kMostGathered) break;
      if (out->written < kFrameHeaderBytes)
        parts.push_back(ConstBytes(out->header_bytes).subspan(out->written));
      parts.push_back(out->data.subspan(std::max(out->written, kFrameHeaderBytes) - kFrameHeaderBytes));
    }
    std::size_t count = 0;
    const Result result = stream_->write(parts, count);
    if (count > 0) last_sent_.store(clock_.now().count());
    written(count, own, found);
    if (result == Result::kFailed || result == Result::kClosed) return broken(stream_->write_why());
    if (result == Result::kAgain) return {};
    if (queue_.empty()) {
      writing_.store(false);
      return {};
    }
  }
  return {};
}

void Connection::written(std::size_t count, const std::atomic<bool>* own, Found& found) {
  while (!queue_.empty()) {
    Outgoing& out = *queue_.front();
    const std::size_t mine = std::min(count, out.size() - out.written);
    out.written += mine;
    count -= mine;
    if (out.written < out.size()) return;
    account(out);
    copied_ -= std::min(copied_, out.copy.size());
    if (&out.done != own) found.others = true;
    const std::shared_ptr<Outgoing> keep = queue_.front();
    queue_.pop_front();
    keep->done.store(true);
  }
}

void Connection::account(const Outgoing& out) {
  std::uint64_t framing = kFrameHeaderBytes;
  if (stream_->encrypted()) {
    const std::uint64_t wire = stream_->bytes_out() - counted_out_;
    framing = wire > out.data.size() ? wire - out.data.size() : kFrameHeaderBytes;
    counted_out_ += out.data.size() + framing;
  }
  if (out.header.type == FrameType::kData) {
    ledger_.count_sent(peer_, Tag::from_bits(out.header.tag)->lane(), out.data.size(), framing);
  } else {
    ledger_.count_overhead(peer_, framing + out.data.size());
  }
}

// Its sender no longer waits. A frame that has begun must end, or the next one could not be told from it.
void Connection::cancel(const std::shared_ptr<Outgoing>& out) {
  const MutexLock lock(write_mutex_);
  const auto found = std::find(queue_.begin(), queue_.end(), out);
  if (found == queue_.end()) return;
  if (out->written == 0) {
    queue_.erase(found);
  } else {
    out->keep_copy();
  }
}

void Connection::finish_writing() { stream_->finish_writing(); }

void Connection::shut_down() {
  open_.store(false);
  stream_->shut_down();
  const MutexLock lock(write_mutex_);
  queue_.clear();
  writing_.store(false);
}

// --- the stream tells when it is ready

void Connection::arm_read() {
  const MutexLock lock(arm_mutex_);
  stream_->wait(Stream::Ready::kRead, [this](bool ready) {
    if (ready) on_readable();
  });
}

void Connection::arm_write() {
  const MutexLock lock(arm_mutex_);
  if (std::exchange(write_armed_, true)) return;
  stream_->wait(Stream::Ready::kWrite, [this](bool ready) {
    if (ready) on_writable();
  });
}

void Connection::on_readable() {
  advance(nullptr);
  if (open_.load()) arm_read();
}

void Connection::on_writable() {
  {
    const MutexLock lock(arm_mutex_);
    write_armed_ = false;
  }
  advance(nullptr);
  if (open_.load() && writing_.load()) arm_write();
}

}  // namespace tacit
