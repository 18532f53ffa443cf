// SPDX-License-Identifier: MIT
// What goes out of a connection.
#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "transport/sent.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/outgoing.h"

namespace tacit {
namespace {

using Result = Stream::Result;

// Up to here a message behind others is copied, so that its sender can go on.
constexpr std::size_t kEagerBytes = std::size_t{16} * 1024;
constexpr std::size_t kMostCopied = std::size_t{4} << 20U;
constexpr std::size_t kMostGathered = 16;  // messages per call to the kernel

}  // namespace

class Connection::SendOperation final : public Operation {
 public:
  SendOperation(Connection& connection, Tag tag, std::shared_ptr<Outgoing> out)
      : connection_(connection), tag_(tag), data_(out->data), out_(std::move(out)) {}
  SendOperation(const SendOperation&) = delete;
  SendOperation& operator=(const SendOperation&) = delete;
  ~SendOperation() override {
    if (out_->done.load()) return;
    try {
      connection_.cancel(out_);
    } catch (const std::bad_alloc&) {
      // The connection is shut, and there is no memory to say so: the peer's silence will.
    }
  }
  Arrival wait() override {
    connection_.owner_.wait_written(connection_.peer_, tag_, out_->done);
    return {connection_.peer_, tag_, data_};
  }
  bool ready_by(Deadline deadline) override {
    return connection_.owner_.ready_by(connection_.peer_, tag_, out_->done, deadline);
  }
  bool ready() override { return connection_.owner_.ready(connection_.peer_, tag_, out_->done); }

 private:
  Connection& connection_;
  const Tag tag_;
  const ConstBytes data_;
  const std::shared_ptr<Outgoing> out_;
};

Request Connection::send(Tag tag, ConstBytes data) {
  const FrameHeader header{FrameType::kData, tag.bits(), data.size()};
  Found found;
  std::shared_ptr<Outgoing> out;
  try {
    const MutexLock lock(write_mutex_);
    out = begin_send(header, data, found);
  } catch (const std::bad_alloc&) {
    lack_memory(found, data.size());  // a part of it may be on its way
    deal_with(found);
    throw;
  }
  if (writing_.load()) arm_write();
  deal_with(found);
  if (!out || !out->copy.empty() || (out->data.empty() && open_.load() && !retired_.load()))
    return std::make_unique<SentOperation>(peer_, tag, data);
  return std::make_unique<SendOperation>(*this, tag, std::move(out));
}

// What is left of the frame, in the queue; nothing where all of it is on its way.
std::shared_ptr<Outgoing> Connection::begin_send(const FrameHeader& header, ConstBytes data, Found& found) {
  if (retired_.load()) {
    auto out = std::make_shared<Outgoing>(header, data);
    strand(out);
    return out;
  }
  std::size_t count = 0;
  if (queue_.empty() && open_.load()) {
    // Straight from the caller's memory, by the caller's thread.
    const FrameHeaderBytes head = encode(header);
    const std::array<ConstBytes, 2> parts{ConstBytes(head), data};
    const Result result = stream_->write(parts, count);
    if (result == Result::kFailed || result == Result::kClosed)
      found.lost = broken_connection(stream_->write_why());
    if (result == Result::kAgain) writing_.store(true);
    if (count > 0) last_sent_.store(clock_.now().count());
  }
  if (count == kFrameHeaderBytes + data.size()) {
    account(Outgoing(header, data));
    return nullptr;
  }
  auto out = std::make_shared<Outgoing>(header, data);
  out->written = count;
  if (data.size() <= kEagerBytes && copied_ + data.size() <= kMostCopied) out->keep_copy();
  enqueue(out);
  return out;
}

void Connection::enqueue(const std::shared_ptr<Outgoing>& out) {
  writing_.store(true);
  if (!open_.load()) return strand(out);
  // Words about ranks that are lost do not wait behind data: who learns of them late concludes something else.
  const bool urgent = out->header.type == FrameType::kAccusation || out->header.type == FrameType::kGivenUp;
  const bool begun = !queue_.empty() && queue_.front()->written > 0;
  queue_.insert(urgent ? queue_.begin() + (begun ? 1 : 0) : queue_.end(), out);
  copied_ += out->copy.size();
}

// Whoever sent a copy does not wait for it.
void Connection::strand(const std::shared_ptr<Outgoing>& out) {
  if (superseded_) {
    out->done.store(true);
  } else if (out->header.type == FrameType::kData && out->copy.empty()) {
    stranded_.push_back(out);
  }
}

void Connection::supersede() {
  const MutexLock lock(write_mutex_);
  superseded_ = true;
  for (const auto& out : std::exchange(stranded_, {})) out->done.store(true);
}

void Connection::send_control(FrameHeader header, const Payload& payload) {
  header.length = payload.size();
  Found found;
  try {
    const MutexLock lock(write_mutex_);
    if (!open_.load()) return;
    auto out = std::make_shared<Outgoing>(header, payload);
    out->keep_copy();
    enqueue(out);
    write_some(nullptr, found);
  } catch (const std::bad_alloc&) {
    lack_memory(found, payload.size());  // what it says must not be missing
  }
  if (writing_.load()) arm_write();
  deal_with(found);
}

void Connection::write_through(RingWriter ring) {
  {
    const MutexLock lock(write_mutex_);
    next_ring_.emplace(std::move(ring));
  }
  send_control({FrameType::kSwitch}, {});
}

// The kernel may take less than there is.
void Connection::write_some(const std::atomic<bool>* own, Found& found) {
  try {
    while (open_.load()) {
      std::vector<ConstBytes> parts;
      parts.reserve(2 * kMostGathered);
      for (const auto& out : queue_) {
        if (parts.size() >= 2 * kMostGathered) break;
        if (out->written < kFrameHeaderBytes)
          parts.push_back(ConstBytes(out->header_bytes).subspan(out->written));
        parts.push_back(out->data.subspan(std::max(out->written, kFrameHeaderBytes) - kFrameHeaderBytes));
        if (out->header.type == FrameType::kSwitch) break;  // what follows goes another way
      }
      std::size_t count = 0;
      const Result result = stream_->write(parts, count);
      if (count > 0) last_sent_.store(clock_.now().count());
      written(count, own, found);
      if (result == Result::kFailed || result == Result::kClosed) {
        if (found.lost.empty()) found.lost = broken_connection(stream_->write_why());
        return;
      }
      if (result == Result::kAgain) return;
      if (queue_.empty()) {
        writing_.store(false);
        return;
      }
    }
  } catch (const std::bad_alloc&) {
    lack_memory(found, queue_.empty() ? 0 : queue_.front()->data.size());
  }
}

void Connection::written(std::size_t count, const std::atomic<bool>* own, Found& found) {
  while (!queue_.empty()) {
    Outgoing& out = *queue_.front();
    const std::size_t mine = std::min(count, out.size() - out.written);
    out.written += mine;
    count -= mine;
    if (out.written < out.size()) return;
    if (out.header.type == FrameType::kSwitch && next_ring_)
      stream_->write_through(*std::exchange(next_ring_, std::nullopt));
    account(out);
    copied_ -= out.copy.size();
    if (&out.done != own) found.others = true;
    const std::shared_ptr<Outgoing> keep = queue_.front();
    queue_.pop_front();
    keep->done.store(true);
  }
}

void Connection::account(const Outgoing& out) {
  const std::uint64_t overhead = stream_->overhead_out();
  const std::uint64_t framing = kFrameHeaderBytes + overhead - std::exchange(counted_out_, overhead);
  if (out.header.type == FrameType::kData) {
    ledger_.count_sent(peer_, Tag::from_bits(out.header.tag)->lane(), out.data.size(), framing);
  } else {
    ledger_.count_overhead(peer_, framing + out.data.size());
  }
}

// Its sender no longer waits. A frame that has begun must end, or the next one could not be told from it.
void Connection::cancel(const std::shared_ptr<Outgoing>& out) {
  Found found;
  {
    const MutexLock lock(write_mutex_);
    std::erase(stranded_, out);
    const auto place = std::find(queue_.begin(), queue_.end(), out);
    if (place == queue_.end()) return;
    if (out->written == 0) {
      queue_.erase(place);
      return;
    }
    try {
      out->keep_copy();
      copied_ += out->copy.size();
    } catch (const std::bad_alloc&) {
      lack_memory(found, out->data.size());
    }
  }
  deal_with(found);
}

std::size_t Connection::copied() {
  const MutexLock lock(write_mutex_);
  return copied_;
}

}  // namespace tacit
