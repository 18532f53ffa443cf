// SPDX-License-Identifier: MIT
#include "transport/tcp/housekeeper.h"

#include <time.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace tacit {
namespace {

// How long nobody must have waited before the housekeeper looks after the sockets.
constexpr std::chrono::milliseconds kIdle{5};

// What Clock counts stands still while a machine sleeps.
Seconds time_with_sleep() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Seconds(static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
}

}  // namespace

Housekeeper::Housekeeper(Household& house, Reactor& reactor, const TcpOptions& options)
    : house_(house),
      reactor_(reactor),
      options_(options),
      beat_(std::min(heartbeat(options.lost_after), options.limits.stall / 4)),
      nap_(std::min(Seconds(1), options.lost_after / 4)),
      waits_(options.size),
      circles_(options.rank, options.size, options.limits.stall),
      chain_(options.limits),
      members_(options.rank, options.size, options.lost_after),
      awake_(time_with_sleep()) {}

void Housekeeper::wake_up() {
  const MutexLock lock(mutex_);
  awake_ = time_with_sleep();
}

void Housekeeper::start() {
  thread_ = std::jthread([this](const std::stop_token& token) { keep_house(token); });
}

void Housekeeper::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  reactor_.end_idle();
  thread_.join();
}

void Housekeeper::keep_house(const std::stop_token& token) try {
  Seconds next = clock_.now() + beat_;
  while (!token.stop_requested()) {
    {
      std::unique_lock lock(stop_mutex_);
      stop_signal_.wait_for(lock, token, kIdle, [] { return false; });
    }
    if (token.stop_requested()) return;
    reactor_.lead_while_idle(next);
    const Seconds now = clock_.now();
    {
      const MutexLock lock(mutex_);
      note_absence(now);
    }
    if (now < next) continue;
    next = now + beat_;
    report_chain(now);
    for (const CircleWatch::Errand& errand : circles_.ask(now)) carry(errand);
    beat(now);
    look();
  }
} catch (const std::exception&) {
  house_.on_failure(std::current_exception());
}

// Longer than a heartbeat without running, by a nap, and the process was stopped or the machine slept. Whoever comes
// first afterwards must know of it before it judges.
void Housekeeper::note_absence(Seconds now) {
  const Seconds awake = time_with_sleep();
  const Seconds gap = awake - std::exchange(awake_, awake);
  if (gap > beat_ + nap_) members_.was_away(gap, now);
}

void Housekeeper::catch_up() {
  for (int peer = 0; peer < options_.size; ++peer)
    if (Connection* const c = house_.connection(peer)) c->advance(nullptr);
  look();
}

void Housekeeper::beat(Seconds now) {
  const Payload wait = encode(waits_.longest(now));
  for (int peer = 0; peer < options_.size; ++peer) {
    Connection* const c = house_.connection(peer);
    if (c == nullptr) continue;
    {
      const MutexLock lock(mutex_);
      if (!members_.here(peer)) continue;
    }
    if (!house_.left() && c->idle()) c->send_control({FrameType::kHeartbeat}, wait);
    if (now - c->last_heard() > beat_) c->advance(nullptr);  // what it said may lie in the kernel
  }
}

// Rank 0 hears of all waits.
void Housekeeper::report_chain(Seconds now) {
  if (options_.rank != 0) return;
  waits_.tell(0, waits_.longest(now));
  chain_.look(waits_.told(), [&](int peer) {
    const Connection* const c = house_.connection(peer);
    return c != nullptr && now - c->last_heard() > std::max(4 * beat_, Seconds(1));
  });
}

// --- who waits in a circle

void Housekeeper::carry(const CircleWatch::Errand& errand) {
  if (!house_.left())
    house_.connection(errand.peer)->send_control({FrameType::kCircle}, encode(errand.question));
}

// Answered by whoever reads the sockets next, because whoever read it holds a connection's lock.
void Housekeeper::hear_question(int peer, const CircleQuestion& question) {
  if (question.path.back().rank != peer) throw BadFrame("a question of another rank");
  for (const CircleQuestion::Link& link : question.path) check(link.rank);
  boost::asio::post(reactor_.io(), [this, question] {
    const CircleWatch::Answer answer = circles_.hear(question, clock_.now());
    if (answer.pass_on) carry(*answer.pass_on);
    if (answer.circle.empty()) return;
    circles_.close(answer.circle);
    reactor_.wake();
  });
}

// --- who goes on

void Housekeeper::check(int rank) const {
  if (rank < 0 || rank >= options_.size) throw BadFrame("there is no rank " + std::to_string(rank));
}

void Housekeeper::on_frame(int peer, const FrameHeader& header, ConstBytes payload) {
  if (header.type == FrameType::kHeartbeat) {
    waits_.tell(peer, decode_wait(payload));
    return;
  }
  if (header.type == FrameType::kCircle) return hear_question(peer, decode_question(payload));
  {
    const MutexLock lock(mutex_);
    if (header.type == FrameType::kAccusation) {
      const Accusation accusation = decode_accusation(payload);
      check(accusation.accuser);
      check(accusation.accused);
      if (header.tag != house_.entry(accusation.accused))
        return;  // of a process that has been replaced since
      members_.hear(accusation, clock_.now());
    } else {
      const Loss loss = decode_loss(payload);
      check(loss.rank);
      if (header.tag != house_.entry(loss.rank)) return;
      members_.adopt(peer, loss);
    }
  }
  look_soon();
}

void Housekeeper::on_left(int peer, const std::optional<Loss>& lost) {
  {
    const MutexLock lock(mutex_);
    if (lost && lost->rank >= 0 && lost->rank < options_.size && lost->rank != peer)
      members_.adopt(lost->rank == options_.rank ? peer : options_.rank, *lost);
    members_.leave(peer);
  }
  look_soon();
}

bool Housekeeper::on_closed(int peer) {
  const Seconds now = clock_.now();
  bool died = false;
  {
    const MutexLock lock(mutex_);
    note_absence(now);
    died = members_.close(peer, now);
  }
  look_soon();
  return died;
}

void Housekeeper::begin_without(int peer) {
  const MutexLock lock(mutex_);
  members_.leave(peer);
}

void Housekeeper::on_return(int peer, const std::function<void()>& take_note) {
  look();
  const MutexLock lock(mutex_);
  take_note();
  members_.come_back(peer);
}

// By whoever reads the sockets next, because whoever calls this may hold a connection's lock.
void Housekeeper::look_soon() {
  boost::asio::post(reactor_.io(), [this] { look(); });
}

void Housekeeper::look() {
  if (house_.left()) return;
  const auto size = static_cast<std::size_t>(options_.size);
  std::vector<Seconds> last_heard(size, kNever);
  Membership::Orders orders;
  std::vector<int> here;
  std::vector<std::uint32_t> entries;  // of those that the orders are about
  {
    const MutexLock lock(mutex_);
    const Seconds now = clock_.now();
    // Here, so that nobody comes back in between.
    for (std::size_t i = 0; i < size; ++i)
      if (const Connection* c = house_.connection(static_cast<int>(i))) last_heard[i] = c->last_heard();
    for (int rank = 0; rank < options_.size; ++rank) entries.push_back(house_.entry(rank));
    note_absence(now);
    orders = members_.look(now, last_heard);
    for (int peer = 0; peer < options_.size; ++peer)
      if (peer != options_.rank && members_.here(peer)) here.push_back(peer);
  }
  const auto say = [&](FrameType type, int about, const Payload& words, int to) {
    house_.connection(to)->send_control({type, entries[static_cast<std::size_t>(about)]}, words);
  };
  for (const Accusation& each : orders.tell)
    for (const int peer : here) say(FrameType::kAccusation, each.accused, encode(each), peer);
  for (const Accusation& each : orders.relay)
    say(FrameType::kAccusation, each.accused, encode(each), each.accused);
  for (const Loss& loss : orders.given_up) {
    house_.give_up(loss, entries[static_cast<std::size_t>(loss.rank)]);
    const Payload words = encode(loss);
    // The lost one too, should it still be there: it must not go on by itself.
    say(FrameType::kGivenUp, loss.rank, words, loss.rank);
    for (const int peer : here) say(FrameType::kGivenUp, loss.rank, words, peer);
  }
  if (!orders.end.empty()) house_.end(orders.end);
}

}  // namespace tacit
