// SPDX-License-Identifier: MIT
// How a message travels. isend hands it to the scheduler; when the network has carried it, it fills the receive that was
// posted for it, or waits in the receiver's mailbox with a copy of its bytes. Actors run one at a time and switch only
// where they sleep: nothing here needs a lock.
#include "tacit/sim/fabric.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <utility>
#include <vector>

#include "sim/actors.h"
#include "sim/scheduler.h"
#include "tacit/core/error.h"
#include "tacit/core/hash.h"
#include "tacit/core/phantom.h"
#include "transport/limits.h"
#include "transport/sent.h"

namespace tacit {
namespace {

using sim::Gate;
using sim::Reason;
using sim::Scheduler;

constexpr std::size_t kEagerBytes = std::size_t{16} * 1024;  // as the transports of real machines
constexpr std::size_t kFraming = 24;  // what TCP adds to a message, src/transport/tcp/frame.h

enum class Presence { kHere, kDone, kFailed };

// A machine that the cluster file ends. Of no interest to anybody: its peers say that they lost it.
struct Crashed : Error {
  using Error::Error;
};

// Owned by the network, the mailbox, and the operations at both ends, of which any may be the last.
struct Message {
  Message(int sender, int receiver, Tag what, Seconds when, ConstBytes bytes)
      : from(sender), to(receiver), tag(what), sent(when), data(bytes) {}
  const int from;
  const int to;
  const Tag tag;
  const Seconds sent;
  ConstBytes data;
  std::vector<std::byte> copy{};  // what data points to, once the sender's buffer is no longer needed
  bool arrived = false;
  Gate done{};  // where the sender waits
  void keep_copy() {
    if (Phantom::holds(data.data())) return;  // there is nothing to copy, and it stays where it is
    copy.assign(data.begin(), data.end());
    data = copy;
  }
};

class ReceiveOperation;

// What waits at one rank, as in the transport between threads.
struct Mailbox {
  std::deque<std::shared_ptr<Message>> messages;
  std::vector<ReceiveOperation*> posted;
  std::vector<std::uint32_t> under_way;  // messages to this rank, by sender
};

}  // namespace

class SimFabric::Hub {
 public:
  Hub(const Cluster& cluster, std::uint64_t seed, WaitLimits limits);

  Scheduler& scheduler() { return scheduler_; }
  int size() const { return scheduler_.size(); }
  Endpoint& endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }
  sim::SimTasks& tasks(int rank) { return tasks_[static_cast<std::size_t>(rank)]; }
  Mailbox& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }

  void run(const std::function<void(int)>& body);
  void leave(int rank, Presence how, const std::string& why);
  void fail(int rank, const std::exception_ptr& error);
  std::exception_ptr cause(int rank) const { return causes_[static_cast<std::size_t>(rank)]; }
  void interrupt() { interrupted_.store(true); }
  bool crashed(int rank) const { return crashed_[static_cast<std::size_t>(rank)]; }
  void require_alive(int rank) const {
    if (crashed(rank)) throw Crashed("rank " + std::to_string(rank) + " crashed");
  }

  void send(const std::shared_ptr<Message>& message);
  bool hopeless(int rank, int peer);
  [[noreturn]] void give_up(int rank, int peer, Tag tag);
  // Sleeps at the gate until done() or hopeless(peer), within the limits.
  template <class Done>
  void wait(Gate& gate, int rank, int peer, Tag tag, const Done& done);
  template <class Done>
  bool ready_by(Gate& gate, int rank, int peer, Tag tag, const Done& done, Deadline deadline);

  void spend_compute(int rank, std::int64_t step);
  void pause(int rank);
  void resume(int rank);
  void count_wait(Seconds from, Seconds sent);
  double computed(int rank) const { return computed_[static_cast<std::size_t>(rank)]; }
  double communicated(int rank) const { return communicated_[static_cast<std::size_t>(rank)]; }
  std::uint64_t trace_hash() const { return hash_; }

 private:
  void deliver(const std::shared_ptr<Message>& message);
  void crash(const Crash& crash);
  void trace(int from, int to, std::uint64_t what, std::uint64_t size);

  const Cluster cluster_;
  const std::uint64_t seed_;
  const WaitLimits limits_;
  Scheduler scheduler_;
  std::deque<Mailbox> boxes_;
  std::deque<sim::SimTasks> tasks_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<Presence> presence_;
  std::vector<std::string> why_;
  std::vector<std::exception_ptr> causes_;
  std::vector<bool> crashed_;
  int failed_ = kAnyRank;  // a rank that failed, if one did
  std::atomic<bool> interrupted_{false};

  std::vector<double> computed_;
  std::vector<double> communicated_;
  // When each rank came to its n-th pause. Of two that follow each other: nobody leaves one before all have come, so that
  // the one before it is over.
  std::array<std::vector<Seconds>, 2> arrived_;
  std::vector<std::size_t> pauses_;  // by rank, the one it is in included
  std::vector<bool> paused_;
  std::vector<bool> began_;  // to train
  std::uint64_t hash_ = hash_bytes({});
};

namespace {

using Hub = SimFabric::Hub;

class SendOperation final : public Operation {
 public:
  SendOperation(Hub& hub, std::shared_ptr<Message> message) : hub_(hub), message_(std::move(message)) {}
  SendOperation(const SendOperation&) = delete;
  SendOperation& operator=(const SendOperation&) = delete;
  ~SendOperation() override {
    if (!message_->arrived) message_->keep_copy();
  }

  // The network carries it whatever the receiver does, so that this ends.
  Arrival wait() override {
    const Seconds start = hub_.scheduler().now();
    while (!message_->arrived) {
      hub_.require_alive(message_->from);
      hub_.scheduler().sleep(message_->done, reason());
    }
    hub_.count_wait(start, message_->sent);
    return {message_->to, message_->tag, message_->data};
  }
  bool ready_by(Deadline deadline) override {
    while (!message_->arrived && hub_.scheduler().now() < deadline)
      hub_.scheduler().sleep(message_->done, reason(), deadline);
    return message_->arrived;
  }

 private:
  Reason reason() const { return {Reason::Kind::kMessage, message_->to, message_->tag}; }

  Hub& hub_;
  const std::shared_ptr<Message> message_;
};

class ReceiveOperation final : public Operation {
 public:
  // Without a buffer the message is borrowed.
  struct Want {
    int peer;
    Tag tag;
    Bytes into;
    bool borrow;
  };

  ReceiveOperation(Hub& hub, int rank, Ledger& ledger, const Want& want)
      : hub_(hub), rank_(rank), ledger_(ledger), want_(want) {
    Mailbox& box = hub_.box(rank_);
    const auto found = std::find_if(box.messages.begin(), box.messages.end(),
                                    [&](const auto& m) { return matches(m->from, m->tag); });
    if (found == box.messages.end()) {
      box.posted.push_back(this);
      return;
    }
    const std::shared_ptr<Message> message = std::move(*found);
    box.messages.erase(found);
    accept(message);
  }
  ReceiveOperation(const ReceiveOperation&) = delete;
  ReceiveOperation& operator=(const ReceiveOperation&) = delete;
  ~ReceiveOperation() override {
    if (!message_) std::erase(hub_.box(rank_).posted, this);
  }

  bool matches(int from, Tag tag) const {
    return tag == want_.tag && (want_.peer == kAnyRank || want_.peer == from);
  }
  bool borrows() const { return want_.borrow; }

  // By whoever took this operation off the posted list, or never put it there.
  void accept(std::shared_ptr<Message> message) {
    message_ = std::move(message);
    length_ = message_->data.size();
    if (!want_.borrow && length_ <= want_.into.size() && !Phantom::holds(message_->data.data()))
      copy<std::byte>(message_->data, want_.into.first(length_));
    hub_.scheduler().wake(arrived_);
  }

  Arrival wait() override {
    const Seconds start = hub_.scheduler().now();
    hub_.wait(arrived_, rank_, want_.peer, want_.tag, [&] { return message_ != nullptr; });
    if (!message_) hub_.give_up(rank_, want_.peer, want_.tag);
    hub_.count_wait(start, message_->sent);
    if (!std::exchange(counted_, true))
      ledger_.count_received(message_->from, want_.tag.lane(), length_, kFraming);
    if (want_.borrow) return {message_->from, want_.tag, message_->data};
    if (length_ > want_.into.size())
      refuse_length(rank_, {message_->from, want_.tag, {static_cast<const std::byte*>(nullptr), length_}},
                    want_.into.size());
    return {message_->from, want_.tag, want_.into.first(length_)};
  }
  bool ready_by(Deadline deadline) override {
    return hub_.ready_by(
        arrived_, rank_, want_.peer, want_.tag, [&] { return message_ != nullptr; }, deadline);
  }

 private:
  Hub& hub_;
  const int rank_;
  Ledger& ledger_;
  const Want want_;
  std::shared_ptr<Message> message_;  // once it has come
  std::size_t length_ = 0;
  Gate arrived_;
  bool counted_ = false;
};

class SimEndpoint final : public Endpoint {
 public:
  SimEndpoint(Hub& hub, int rank, int ranks) : hub_(hub), rank_(rank), ledger_(ranks, rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_.size(); }
  Clock& clock() override { return hub_.tasks(rank_).clock(); }
  const Ledger& ledger() const override { return ledger_; }
  void fail(const std::exception_ptr& error) override { hub_.fail(rank_, error); }

  Request isend(int peer, Tag tag, ConstBytes data) override {
    check_peer(peer);
    ledger_.count_sent(peer, tag.lane(), data.size(), kFraming);
    auto message = std::make_shared<Message>(rank_, peer, tag, hub_.scheduler().now(), data);
    const bool eager = data.size() <= kEagerBytes;
    if (eager) message->keep_copy();
    hub_.send(message);
    if (eager) return std::make_unique<SentOperation>(peer, tag, data);
    return std::make_unique<SendOperation>(hub_, std::move(message));
  }
  Request irecv(int peer, Tag tag, Bytes into) override { return receive({peer, tag, into, false}); }
  Request iborrow(int peer, Tag tag) override { return receive({peer, tag, {}, true}); }

 private:
  Request receive(const ReceiveOperation::Want& want) {
    if (want.peer != kAnyRank) check_peer(want.peer);
    return std::make_unique<ReceiveOperation>(hub_, rank_, ledger_, want);
  }
  void check_peer(int peer) const {
    TACIT_CHECK(peer >= 0 && peer < hub_.size(), "there is no rank " + std::to_string(peer));
  }

  Hub& hub_;
  const int rank_;
  Ledger ledger_;
};

}  // namespace

SimFabric::Hub::Hub(const Cluster& cluster, std::uint64_t seed, WaitLimits limits)
    : cluster_(cluster), seed_(seed), limits_(checked(std::move(limits))), scheduler_(cluster) {
  const auto ranks = static_cast<std::size_t>(size());
  boxes_.resize(ranks);
  for (Mailbox& each : boxes_) each.under_way.resize(ranks);
  presence_.resize(ranks);
  why_.resize(ranks);
  causes_.resize(ranks);
  crashed_.resize(ranks);
  computed_.resize(ranks);
  communicated_.resize(ranks);
  paused_.resize(ranks);
  began_.resize(ranks);
  for (auto& each : arrived_) each.resize(ranks);
  pauses_.resize(ranks);
  for (int rank = 0; rank < size(); ++rank) {
    tasks_.emplace_back(scheduler_, rank, [this, rank] { require_alive(rank); });
    endpoints_.push_back(std::make_unique<SimEndpoint>(*this, rank, size()));
  }
}

void SimFabric::Hub::run(const std::function<void(int)>& body) {
  for (int rank = 0; rank < size(); ++rank)
    scheduler_.spawn("rank-" + std::to_string(rank), rank, true, [&body, rank] { body(rank); });
  for (const Crash& each : cluster_.crashes) scheduler_.at(each.at, [this, &each] { crash(each); });
  scheduler_.run();
}

void SimFabric::Hub::send(const std::shared_ptr<Message>& message) {
  if (message->to == message->from || message->tag.lane() == Tag::Lane::kControl) return deliver(message);
  ++box(message->to).under_way[static_cast<std::size_t>(message->from)];
  scheduler_.transfer(message->from, message->to, message->data.size() + kFraming, [this, message] {
    trace(message->from, message->to, message->tag.bits(), message->data.size());
    std::uint32_t& left = box(message->to).under_way[static_cast<std::size_t>(message->from)];
    --left;
    deliver(message);
    // The last word of a rank that has left: who waits for more does so in vain.
    if (left == 0 && presence_[static_cast<std::size_t>(message->from)] != Presence::kHere)
      scheduler_.wake_rank(message->to);
  });
}

void SimFabric::Hub::deliver(const std::shared_ptr<Message>& message) {
  Mailbox& to = box(message->to);
  const auto found = std::find_if(to.posted.begin(), to.posted.end(),
                                  [&](auto* r) { return r->matches(message->from, message->tag); });
  ReceiveOperation* const receiver = found == to.posted.end() ? nullptr : *found;
  const bool owned = !message->copy.empty() || message->data.empty();
  if (!owned && (receiver == nullptr || receiver->borrows())) message->keep_copy();
  if (receiver == nullptr) {
    to.messages.push_back(message);
  } else {
    to.posted.erase(found);
    receiver->accept(message);
  }
  message->arrived = true;
  scheduler_.wake(message->done);
}

void SimFabric::Hub::leave(int rank, Presence how, const std::string& why) {
  const auto at = static_cast<std::size_t>(rank);
  if (why_[at].empty()) why_[at] = why;  // the first reason is the true one
  if (presence_[at] != Presence::kHere) return;
  presence_[at] = how;
  if (how == Presence::kFailed) failed_ = rank;
  scheduler_.wake_everyone();
}

void SimFabric::Hub::fail(int rank, const std::exception_ptr& error) {
  const auto at = static_cast<std::size_t>(rank);
  if (error && presence_[at] == Presence::kFailed) return;  // its own end wakes its agents: no cause
  if (error && !causes_[at]) causes_[at] = error;
  leave(rank, Presence::kFailed, error ? "its agent failed: " + describe(error) : "");
}

void SimFabric::Hub::crash(const Crash& crash) {
  const auto at = static_cast<std::size_t>(crash.rank);
  if (presence_[at] != Presence::kHere) return;
  crashed_[at] = true;
  leave(crash.rank, Presence::kFailed,
        "it crashed at " + std::to_string(crash.at.count()) + " s, as the cluster file says");
}

bool SimFabric::Hub::hopeless(int rank, int peer) {
  if (interrupted_.load() || crashed(rank) || !scheduler_.deadlock().empty()) return true;
  const int whom = peer == kAnyRank ? failed_ : peer;
  if (whom == kAnyRank) return false;
  return presence_[static_cast<std::size_t>(whom)] != Presence::kHere &&
         box(rank).under_way[static_cast<std::size_t>(whom)] == 0;
}

void SimFabric::Hub::give_up(int rank, int peer, Tag tag) {
  require_alive(rank);
  if (interrupted_.load()) throw Interrupted("rank " + std::to_string(rank) + ": the run was interrupted");
  const int gone = peer == kAnyRank ? failed_ : peer;
  const bool left = gone != kAnyRank && presence_[static_cast<std::size_t>(gone)] != Presence::kHere;
  if (!left) throw Error(scheduler_.deadlock());
  const std::string& why = why_[static_cast<std::size_t>(gone)];
  throw PeerLost(rank, gone,
                 (why.empty() ? "it is failing" : why) + " (" + describe_wait(rank, peer, tag) + ")");
}

template <class Done>
void SimFabric::Hub::wait(Gate& gate, int rank, int peer, Tag tag, const Done& done) {
  wait_within(limits_, tasks(rank).clock(), rank, peer, tag, [&](Deadline deadline) {
    while (!done() && !hopeless(rank, peer) && scheduler_.now() < deadline)
      scheduler_.sleep(gate, {Reason::Kind::kMessage, peer, tag}, deadline);
    return done() || hopeless(rank, peer);
  });
}

template <class Done>
bool SimFabric::Hub::ready_by(Gate& gate, int rank, int peer, Tag tag, const Done& done, Deadline deadline) {
  while (!done() && !hopeless(rank, peer) && scheduler_.now() < deadline)
    scheduler_.sleep(gate, {Reason::Kind::kMessage, peer, tag}, deadline);
  return done() || hopeless(rank, peer);
}

void SimFabric::Hub::spend_compute(int rank, std::int64_t step) {
  began_[static_cast<std::size_t>(rank)] = true;
  const Seconds time = compute_time(cluster_, seed_, rank, step);
  tasks(rank).clock().sleep(time);
  computed_[static_cast<std::size_t>(rank)] += time.count();
  trace(rank, rank, static_cast<std::uint64_t>(step), 0);
}

void SimFabric::Hub::pause(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  paused_[at] = true;
  arrived_[++pauses_[at] % 2][at] = scheduler_.now();
}

// All have come, because they met. Each goes on so long after it came as passed between the first one and the last.
void SimFabric::Hub::resume(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  const std::vector<Seconds>& came = arrived_[pauses_[at] % 2];
  const auto [first, last] = std::minmax_element(came.begin(), came.end());
  tasks(rank).clock().sleep(came[at] + (*last - *first) - scheduler_.now());
  paused_[at] = false;
}

void SimFabric::Hub::count_wait(Seconds from, Seconds sent) {
  const auto at = static_cast<std::size_t>(scheduler_.rank());
  if (!scheduler_.is_trainer() || paused_[at] || !began_[at]) return;
  communicated_[at] += (scheduler_.now() - std::max(from, sent)).count();
}

void SimFabric::Hub::trace(int from, int to, std::uint64_t what, std::uint64_t size) {
  struct Event {
    double time;
    std::int64_t from;
    std::int64_t to;
    std::uint64_t what;
    std::uint64_t size;
  };
  const Event event{scheduler_.now().count(), from, to, what, size};
  hash_ = hash_bytes(std::as_bytes(std::span(&event, 1)), hash_);
}

SimFabric::SimFabric(const Cluster& cluster, std::uint64_t seed, WaitLimits limits)
    : hub_(std::make_unique<Hub>(cluster, seed, std::move(limits))) {}
SimFabric::~SimFabric() = default;
int SimFabric::size() const { return hub_->size(); }
void SimFabric::run(const std::function<void(int)>& body) { hub_->run(body); }
Endpoint& SimFabric::endpoint(int rank) { return hub_->endpoint(rank); }
Tasks& SimFabric::tasks(int rank) { return hub_->tasks(rank); }
void SimFabric::leave(int rank, Leave how, const std::string& why) {
  hub_->leave(rank, how == Leave::kDone ? Presence::kDone : Presence::kFailed, why);
}
std::exception_ptr SimFabric::cause(int rank) { return hub_->cause(rank); }
void SimFabric::interrupt() { hub_->interrupt(); }
bool SimFabric::crashed(int rank) const { return hub_->crashed(rank); }
void SimFabric::spend_compute(int rank, std::int64_t step) { hub_->spend_compute(rank, step); }
void SimFabric::pause(int rank) { hub_->pause(rank); }
void SimFabric::resume(int rank) { hub_->resume(rank); }
double SimFabric::computed(int rank) const { return hub_->computed(rank); }
double SimFabric::communicated(int rank) const { return hub_->communicated(rank); }
std::uint64_t SimFabric::trace_hash() const { return hub_->trace_hash(); }

}  // namespace tacit
