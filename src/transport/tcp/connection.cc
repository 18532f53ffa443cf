// SPDX-License-Identifier: MIT
#include "transport/tcp/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>
#include <new>
#include <utility>

#include "tacit/core/error.h"
#include "transport/tcp/outgoing.h"

namespace tacit {
namespace {

using Result = Stream::Result;

// Holds a small message with its header; larger ones are read straight to where they belong.
constexpr std::size_t kStagingBytes = std::size_t{16} * 1024;

}  // namespace

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
      counted_in_(stream_->overhead_in()),
      counted_out_(stream_->overhead_out()) {}

Connection::~Connection() { shut_down(); }

void Connection::start() {
  arm_read();
  advance(nullptr);  // TLS may hold bytes that came with the end of the handshake
}

void Connection::advance(const std::atomic<bool>* own) {
  Found found;
  if (read_mutex_.try_lock()) {
    const MutexLock lock(read_mutex_, std::adopt_lock);
    read_some(own, found);
  }
  write_rest(own, found);
  deal_with(found);
}

// Whoever spins comes again. Whoever was woken does not: the bell that woke it rings once, and whoever holds the lock may
// have found no room just before. What waited for room in a ring may wait for the wire afterwards, because of a bell.
void Connection::write_rest(const std::atomic<bool>* own, Found& found) {
  if (!writing_.load()) return;
  if (own == nullptr) {
    const MutexLock lock(write_mutex_);
    write_some(own, found);
  } else if (write_mutex_.try_lock()) {
    const MutexLock lock(write_mutex_, std::adopt_lock);
    write_some(own, found);
  }
  if (open_.load() && writing_.load()) arm_write();
}

// Says so without memory where there is none. A frame that was begun cannot be ended then, in or out, so that the
// connection is of no more use.
void Connection::lack_memory(Found& found, std::uint64_t bytes) noexcept {
  found.lack = true;
  try {
    found.lost = "there is no memory here for a message of " + std::to_string(bytes) +
                 " bytes between us; give the rank more, or run fewer ranks on its machine";
  } catch (const std::bad_alloc&) {
    found.lost = "no memory";
  }
}

void Connection::deal_with(const Found& found) {
  if (found.others) owner_.on_progress();
  if (found.lost.empty()) return;
  ++reporting_;
  if (open_.exchange(false)) {
    shut_down();
    if (found.lack) owner_.on_lack(found.lost);
    owner_.on_lost(peer_, found.lost);
  }
  --reporting_;
}

void Connection::between_reads(const std::function<void()>& fn) {
  const MutexLock lock(read_mutex_);
  fn();
}

// --- in

void Connection::read_some(const std::atomic<bool>* own, Found& found) {
  try {
    // Whoever spins looks at the ring alone; whoever was woken silences the bell.
    if (own == nullptr) stream_->hear_bells();
    for (std::size_t total = 0; open_.load() && total < most_at_once_;) {
      const Bytes rest = rest_of_frame();
      const Bytes stage = Bytes(staging_).subspan(staged_);
      std::size_t count = 0;
      const Result result = stream_->read(rest, stage, count);
      if (const std::uint64_t bells = stream_->take_bell_bytes(); bells > 0)
        ledger_.count_overhead(peer_, bells);
      if (result == Result::kAgain) return;
      if (result != Result::kDone) {
        found.lost = result == Result::kClosed
                         ? "its connection closed without a goodbye: its process ended or was killed"
                         : broken_connection(stream_->read_why());
        return;
      }
      total += count;
      last_heard_.store(clock_.now().count());
      const std::size_t direct = std::min(count, rest.size());
      if (in_frame_) (message_ ? message_->received : control_received_) += direct;
      if (in_frame_ && rest.size() == direct) end_frame(own, found);
      ConstBytes staged = ConstBytes(staging_).first(staged_ + count - direct);
      while (take_in(staged, own, found)) {
        if (!std::exchange(left_wire_, false)) continue;
        staged = {};
        look_again();  // a bell for the writer may have been in it
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
    lack_memory(found, header_.length);
  }
}

// The others had their turn. It waits for the lock, because nobody else may come for what TLS holds. It writes, too: the
// bells that it takes in may be the writer's.
void Connection::look_again() {
  boost::asio::post(stream_->executor(), [this] {
    Found found;
    {
      const MutexLock lock(read_mutex_);
      read_some(nullptr, found);
    }
    write_rest(nullptr, found);
    deal_with(found);
  });
}

Bytes Connection::rest_of_frame() {
  if (!in_frame_) return {};
  if (message_ && message_->homeless()) throw std::bad_alloc();  // whoever wanted it is gone
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
  // What TLS added since the last frame ended is this one's.
  const std::uint64_t overhead = stream_->overhead_in();
  const std::uint64_t added = overhead - std::exchange(counted_in_, overhead);
  if (!message_) {
    owner_.on_control(peer_, header_, control_);
    return;
  }
  message_->framing = kFrameHeaderBytes + added;
  const Tag tag = message_->tag;
  const std::atomic<bool>* ended = inbox_.complete(message_);
  message_.reset();
  owner_.on_message(peer_, tag);
  if (ended != nullptr && ended != own) found.others = true;
}

void Connection::read_through(RingReader ring) {
  stream_->read_through(std::move(ring));
  left_wire_ = true;
}

void Connection::finish_writing() { stream_->finish_writing(); }

bool Connection::all_arrived() {
  if (!open_.load()) return true;
  const MutexLock lock(write_mutex_);
  return stream_->all_arrived();
}

void Connection::shut_down() {
  open_.store(false);
  stream_->shut_down();
  const MutexLock lock(write_mutex_);
  for (const auto& out : std::exchange(queue_, {})) strand(out);
  copied_ = 0;
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
  if (!stream_->wants_wire()) return;  // whoever makes room in the ring rings
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
}

}  // namespace tacit
