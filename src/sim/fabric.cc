// SPDX-License-Identifier: MIT
// How a message travels. isend hands it to the scheduler; when the network has carried it, it fills the receive that
// was posted for it, or waits in the receiver's mailbox with a copy of its bytes.
#include "sim/fabric.h"

#include <algorithm>
#include <utility>

#include "sim/hub.h"
#include "tacit/core/error.h"
#include "transport/sent.h"

namespace tacit {
namespace {

using Hub = SimFabric::Hub;
using sim::Gate;
using sim::kFraming;
using sim::Message;
using sim::Reason;

constexpr std::size_t kEagerBytes = std::size_t{16} * 1024;  // as the transports of real machines

// What a wait for several needs to know of each.
class Awaited : public Operation {
 public:
  virtual Gate& gate() = 0;  // where its end is told
  virtual Reason reason() const = 0;
  // Its task has slept for it since then.
  virtual void count_from(Seconds start) = 0;
};

class SendOperation final : public Awaited {
 public:
  SendOperation(Hub& hub, std::shared_ptr<Message> message) : hub_(hub), message_(std::move(message)) {}
  SendOperation(const SendOperation&) = delete;
  SendOperation& operator=(const SendOperation&) = delete;
  ~SendOperation() override {
    if (!message_->arrived) message_->keep_copy();
  }

  Arrival wait() override {
    const Seconds start = hub_.scheduler().now();
    hub_.divided() ? wait_for_arrival() : wait_for_network();
    hub_.count_wait(start, message_->sent);
    return {message_->to, message_->tag, message_->data};
  }
  bool ready_by(Deadline deadline) override {
    if (hub_.divided())
      return hub_.ready_by(
          message_->done, what(), [&] { return message_->arrived; }, deadline);
    while (!message_->arrived && hub_.scheduler().now() < deadline)
      hub_.scheduler().sleep(message_->done, reason(), deadline);
    return message_->arrived;
  }
  bool ready() override { return message_->arrived || (hub_.divided() && hub_.hopeless(what())); }
  Gate& gate() override { return message_->done; }
  Reason reason() const override { return {Reason::Kind::kMessage, message_->to, message_->tag}; }
  void count_from(Seconds start) override { hub_.count_wait(start, message_->sent); }

 private:
  // The network carries it whatever the receiver does, so that this ends.
  void wait_for_network() {
    while (!message_->arrived) {
      hub_.require_alive(message_->from);
      hub_.scheduler().sleep(message_->done, reason());
    }
  }
  // It may be held back for ever.
  void wait_for_arrival() {
    hub_.wait(message_->done, what(), [&] { return message_->arrived; });
  }
  MessageWait what() const { return {message_->from, message_->to, message_->tag}; }

  Hub& hub_;
  const std::shared_ptr<Message> message_;
};

}  // namespace

// The receiving side; sim::Mailbox knows it by name.
class sim::ReceiveOperation final : public Awaited {
 public:
  ReceiveOperation(Hub& hub, int rank, Ledger& ledger, const Want& want)
      : hub_(hub), rank_(rank), ledger_(ledger), want_(want) {
    if (std::shared_ptr<Message> message = hub_.box(rank_).matcher.take_or_post(*this))
      accept(std::move(message));
  }
  ReceiveOperation(const ReceiveOperation&) = delete;
  ReceiveOperation& operator=(const ReceiveOperation&) = delete;
  ~ReceiveOperation() override {
    if (!message_) hub_.box(rank_).matcher.withdraw(*this);
  }

  const Want& want() const { return want_; }
  // Called once, by whoever withdrew it or never posted it.
  void accept(std::shared_ptr<Message> message) {
    message_ = std::move(message);
    length_ = message_->data.size();
    if (want_.has_room(length_)) copy(message_->data, want_.into.first(length_));
    hub_.scheduler().wake(arrived_);
  }

  Arrival wait() override {
    const Seconds start = hub_.scheduler().now();
    hub_.wait(arrived_, {rank_, want_.peer, want_.tag}, [&] { return message_ != nullptr; });
    hub_.count_wait(start, message_->sent);
    if (!std::exchange(counted_, true))
      ledger_.count_received(message_->from, want_.tag.lane(), length_, kFraming);
    return want_.arrival(
        rank_, message_->from,
        want_.borrow ? message_->data : ConstBytes(static_cast<const std::byte*>(nullptr), length_));
  }
  bool ready_by(Deadline deadline) override {
    const Seconds start = hub_.scheduler().now();
    const bool ready = hub_.ready_by(
        arrived_, {rank_, want_.peer, want_.tag}, [&] { return message_ != nullptr; }, deadline);
    if (message_) hub_.count_wait(start, message_->sent);
    return ready;
  }
  bool ready() override { return message_ || hub_.hopeless({rank_, want_.peer, want_.tag}); }
  Gate& gate() override { return arrived_; }
  Reason reason() const override { return {Reason::Kind::kMessage, want_.peer, want_.tag}; }
  void count_from(Seconds start) override {
    if (message_) hub_.count_wait(start, message_->sent);
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

void SimFabric::Hub::deliver(const std::shared_ptr<sim::Message>& message) {
  sim::ReceiveOperation* const receive = box(message->to).matcher.first_receive(message->from, message->tag);
  const bool owned = !message->copy.empty() || message->data.empty();
  if (!owned && (receive == nullptr || receive->want().borrow)) message->keep_copy();
  if (receive == nullptr) {
    box(message->to).matcher.hold(message);
  } else {
    box(message->to).matcher.withdraw(*receive);
    receive->accept(message);
  }
  message->arrived = true;
  scheduler_.wake(message->done);
}

namespace {

class SimEndpoint final : public Endpoint {
 public:
  SimEndpoint(Hub& hub, int rank, int ranks) : hub_(hub), rank_(rank), ledger_(ranks, rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_.size(); }
  Clock& clock() override { return hub_.tasks(rank_).clock(); }
  const Ledger& ledger() const override { return ledger_; }
  void fail(const std::exception_ptr& error) override { hub_.fail(rank_, error); }
  void survive() override { hub_.roster(rank_).survive(rank_); }
  bool survives() const override { return hub_.roster(rank_).survives(rank_); }
  void tell_departures(Tag tag) override { hub_.roster(rank_).tell_departures(rank_, tag); }
  std::vector<Loss> losses() const override { return hub_.roster(rank_).losses(); }
  bool here(int peer) const override { return hub_.roster(rank_).here(peer); }

  Request isend(int peer, Tag tag, ConstBytes data) override {
    hub_.roster(rank_).check(peer);
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
  void wait_any(std::span<Operation* const> any) override {
    const Seconds start = hub_.scheduler().now();
    std::vector<Awaited*> all;
    std::vector<Gate*> gates;
    for (Operation* each : any) {
      if (each->ready()) return;  // what was sent at once is nothing to sleep for
      all.push_back(&dynamic_cast<Awaited&>(*each));
      gates.push_back(&all.back()->gate());
    }
    while (!any_ready(any)) hub_.scheduler().sleep(gates, all.front()->reason());
    for (Awaited* each : all)
      if (each->ready()) each->count_from(start);
  }

 private:
  Request receive(const Want& want) {
    if (want.peer != kAnyRank) hub_.roster(rank_).check(want.peer);
    return std::make_unique<sim::ReceiveOperation>(hub_, rank_, ledger_, want);
  }

  Hub& hub_;
  const int rank_;
  Ledger ledger_;
};

std::unique_ptr<Endpoint> make_sim_endpoint(Hub& hub, int rank, int ranks) {
  return std::make_unique<SimEndpoint>(hub, rank, ranks);
}

}  // namespace

SimFabric::SimFabric(const Cluster& cluster, std::uint64_t seed, const SimOptions& options)
    : hub_(std::make_unique<Hub>(cluster, seed, options, make_sim_endpoint)) {}
SimFabric::~SimFabric() = default;
int SimFabric::size() const { return hub_->size(); }
void SimFabric::run(const std::function<void(int)>& body) { hub_->run(body); }
Endpoint& SimFabric::endpoint(int rank) { return hub_->endpoint(rank); }
Tasks& SimFabric::tasks(int rank) { return hub_->tasks(rank); }
void SimFabric::leave(int rank, const Departure& how) { hub_->leave(rank, how); }
std::exception_ptr SimFabric::cause(int rank) { return hub_->roster(rank).cause(rank); }
void SimFabric::interrupt() { hub_->interrupt(); }
bool SimFabric::crashed(int rank) const { return hub_->crashed(rank); }
void SimFabric::spend_compute(int rank, std::int64_t step, double share) {
  hub_->spend_compute(rank, step, share);
}
void SimFabric::grant_head_start(int rank, Seconds duration) { hub_->grant_head_start(rank, duration); }
void SimFabric::pause(int rank) { hub_->pause(rank); }
void SimFabric::resume(int rank) { hub_->resume(rank); }
double SimFabric::computed(int rank) const { return hub_->computed(rank); }
double SimFabric::communicated(int rank) const { return hub_->communicated(rank); }
std::uint64_t SimFabric::trace_hash() const { return hub_->trace_hash(); }

}  // namespace tacit
