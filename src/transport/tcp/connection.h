// SPDX-License-Identifier: MIT
// A rank's connection to one peer, once both have met: frames in, frames out.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "tacit/core/clock.h"
#include "tacit/transport/endpoint.h"
#include "transport/inbox.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/messages.h"
#include "transport/tcp/stream.h"

namespace tacit {

struct Outgoing;

// Who is told what a connection meets. Called without the connection's locks held, except on_control and on_message.
class ConnectionOwner : public Waiter {
 public:
  virtual void on_control(int peer, const FrameHeader& header,
                          ConstBytes payload) = 0;  // in the order of the stream
  virtual void on_message(int, Tag) {}  // a message is whole, and the receive that wanted it has it
  // As wait(), for the end of a send: what ends it need not be an exchange of the peer's.
  virtual void wait_written(int peer, Tag tag, const std::atomic<bool>& done) { wait(peer, tag, done); }
  // Until done, or until the peer is lost, which may be reading our memory: unlike waits, the loss of another ends it not.
  virtual void wait_returned(int peer, const std::atomic<bool>& done) = 0;
  virtual void on_lost(int peer, const std::string& why) = 0;
  virtual void on_progress() = 0;  // an operation ended that is not the caller's own
  // The rank itself cannot go on with this peer, for want of memory; then the connection is lost, too.
  virtual void on_lack(const std::string&) {}
};

// Lifetime  outlived by nothing that it armed: the owner runs the io_context only while connections live.
// Threads   any.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members stand beside the lock that guards them
class Connection {
 public:
  Connection(ConnectionOwner& owner, Inbox& inbox, Ledger& ledger, int peer, std::shared_ptr<Stream> stream);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // How much one look takes in before others get their turn. Before start().
  void take_at_once(std::size_t bytes) { most_at_once_ = bytes; }
  // Begins to look after the stream whenever the io_context runs.
  void start();

  Request send(Tag tag, ConstBytes data);
  // header.length is taken from the payload.
  void send_control(FrameHeader header, const Payload& payload);

  // What can be done without waiting, by whoever waits. `own` is the flag the caller waits for.
  void advance(const std::atomic<bool>* own);

  bool idle() const { return !writing_.load(); }  // nothing is queued
  std::size_t copied();                           // bytes of messages in the queue whose senders have gone on
  // The peer was given up: messages to it go nowhere, and what it must be told still does.
  void retire() { retired_.store(true); }
  void finish_writing();
  bool all_arrived();
  void shut_down();
  // Whether its end is just being told to its owner.
  bool reporting() const { return reporting_.load() > 0; }
  // The peer has come back over another connection: sends that wait to go out over this one end as if they had gone.
  void supersede();
  bool by_ring() const { return stream_->by_ring(); }  // what we send

  // Frames leave the wire for a ring (ring.h). Where on_control is called: what is written after the frame kSwitch, which
  // this sends; and what is read after the frame that on_control was called for.
  void write_through(RingWriter ring);
  void read_through(RingReader ring);

  Seconds last_heard() const { return Seconds(last_heard_.load()); }
  Seconds last_sent() const { return Seconds(last_sent_.load()); }
  // Runs fn while nobody reads.
  void between_reads(const std::function<void()>& fn);

 private:
  class SendOperation;
  // What a look at the socket found.
  struct Found {
    bool others = false;  // an operation of somebody else ended
    std::string lost;     // the connection is of no more use, and why
    bool lack = false;    // for want of memory here, which is not the peer's fault
  };

  void read_some(const std::atomic<bool>* own, Found& found) TACIT_REQUIRES(read_mutex_);
  void write_rest(const std::atomic<bool>* own, Found& found);
  void look_again() TACIT_REQUIRES(read_mutex_);
  bool take_in(ConstBytes& bytes, const std::atomic<bool>* own, Found& found) TACIT_REQUIRES(read_mutex_);
  void begin_frame(ConstBytes header) TACIT_REQUIRES(read_mutex_);
  void end_frame(const std::atomic<bool>* own, Found& found) TACIT_REQUIRES(read_mutex_);
  Bytes rest_of_frame() TACIT_REQUIRES(read_mutex_);

  std::shared_ptr<Outgoing> begin_send(const FrameHeader& header, ConstBytes data, Found& found)
      TACIT_REQUIRES(write_mutex_);
  void enqueue(const std::shared_ptr<Outgoing>& out) TACIT_REQUIRES(write_mutex_);
  void strand(const std::shared_ptr<Outgoing>& out) TACIT_REQUIRES(write_mutex_);
  void write_some(const std::atomic<bool>* own, Found& found) TACIT_REQUIRES(write_mutex_);
  void written(std::size_t count, const std::atomic<bool>* own, Found& found) TACIT_REQUIRES(write_mutex_);
  void account(const Outgoing& out) TACIT_REQUIRES(write_mutex_);
  void cancel(const std::shared_ptr<Outgoing>& out);
  void deal_with(const Found& found);
  static void lack_memory(Found& found, std::uint64_t bytes) noexcept;
  void arm_read();
  void arm_write();
  void on_readable();
  void on_writable();

  ConnectionOwner& owner_;
  Inbox& inbox_;
  Ledger& ledger_;
  const int peer_;
  const std::shared_ptr<Stream> stream_;
  RealClock clock_;
  std::size_t most_at_once_ = std::size_t{4} << 20U;
  std::atomic<bool> open_{true};
  std::atomic<int> reporting_{0};
  std::atomic<bool> retired_{false};
  std::atomic<double> last_heard_;
  std::atomic<double> last_sent_;

  Mutex read_mutex_;
  std::vector<std::byte> staging_ TACIT_GUARDED_BY(read_mutex_);  // small frames and the starts of large ones
  std::size_t staged_ TACIT_GUARDED_BY(read_mutex_) = 0;          // bytes in it: less than a header
  bool in_frame_ TACIT_GUARDED_BY(read_mutex_) = false;
  FrameHeader header_ TACIT_GUARDED_BY(read_mutex_){FrameType::kData};  // of the frame that comes in
  std::shared_ptr<Message> message_ TACIT_GUARDED_BY(read_mutex_);      // its message, where it is data
  Payload control_ TACIT_GUARDED_BY(read_mutex_);                       // its payload, where it is not
  std::size_t control_received_ TACIT_GUARDED_BY(read_mutex_) = 0;
  std::uint64_t counted_in_ TACIT_GUARDED_BY(read_mutex_) = 0;  // of what TLS added, to frames
  bool left_wire_ = false;                                      // the reader's: what is staged are bells

  Mutex write_mutex_;
  std::deque<std::shared_ptr<Outgoing>> queue_ TACIT_GUARDED_BY(write_mutex_);
  std::size_t copied_ TACIT_GUARDED_BY(write_mutex_) = 0;  // bytes of copies in the queue
  // Messages that never go out and whose senders may wait for that.
  std::vector<std::shared_ptr<Outgoing>> stranded_ TACIT_GUARDED_BY(write_mutex_);
  bool superseded_ TACIT_GUARDED_BY(write_mutex_) = false;
  std::uint64_t counted_out_ TACIT_GUARDED_BY(write_mutex_) = 0;
  std::optional<RingWriter> next_ring_ TACIT_GUARDED_BY(write_mutex_);  // once kSwitch is written
  std::atomic<bool> writing_{false};  // queue_ or the stream has something left

  Mutex arm_mutex_;  // streams take one caller at a time
  bool write_armed_ TACIT_GUARDED_BY(arm_mutex_) = false;
};

}  // namespace tacit
