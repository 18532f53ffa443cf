// SPDX-License-Identifier: MIT
#include "collectives/agent.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/unattended.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

using Kind = RequestHeader::Kind;

Tag request_tag(Tag::Lane lane, std::uint32_t service) { return {Tag::Channel::kRequest, lane, service}; }
Tag body_tag(Tag::Lane lane, std::uint32_t ticket) { return {Tag::Channel::kRequestBody, lane, ticket}; }
Tag reply_tag(Tag::Lane lane, std::uint32_t ticket) { return {Tag::Channel::kReply, lane, ticket}; }

ConstBytes header_bytes(const RequestHeader& h) { return std::as_bytes(std::span(&h, 1)); }

class EndpointAnswer final : public Answer {
 public:
  // `entry` is that of the life that asked.
  EndpointAnswer(Endpoint& endpoint, Arrival to, std::uint32_t entry, Unattended& answers)
      : endpoint_(endpoint), to_(to.peer), entry_(entry), tag_(to.tag), answers_(answers) {}
  void send(ConstBytes reply) override {
    const auto kept = std::make_shared<const KeptBytes>(reply);
    send(kept->view(), kept);
  }
  void send(ConstBytes reply, std::shared_ptr<const void> keep) override {
    if (endpoint_.entry(to_) != entry_) return;  // it was lost, and is another one now
    answers_.add_send(endpoint_.isend(to_, tag_, reply), std::move(keep));
  }

 private:
  Endpoint& endpoint_;
  int to_;
  std::uint32_t entry_;
  Tag tag_;
  Unattended& answers_;
};

}  // namespace

RequestHeader::RequestHeader(Kind kind, std::uint32_t its_ticket, const Call& call)
    : body_bytes(call.body.size()),
      step(call.step),
      weight(call.weight),
      kind_and_method(static_cast<std::uint32_t>(kind) * Call::kMethods + call.method),
      ticket(its_ticket) {
  TACIT_CHECK(call.method < Call::kMethods, "a method has 30 bits");
}

// What the agent's task does.
class Agent::Desk {
 public:
  Desk(Endpoint& endpoint, Tag at, Handler handler, OnDeparture on_departure)
      : endpoint_(endpoint), at_(at), handler_(std::move(handler)), on_departure_(std::move(on_departure)) {}

  // Callers wait for this agent and would wait in vain: tell them, and give back what they have lent it, as this object
  // may outlive its task until one of them has gone on.
  void run() {
    struct Return {
      ~Return() {
        desk.asked_.clear();
        desk.next_.reset();
      }
      Desk& desk;
    } const at_the_end{*this};
    try {
      serve();
    } catch (const Interrupted&) {
      throw;  // everybody knows
    } catch (...) {
      endpoint_.fail(std::current_exception());
      throw;
    }
  }

 private:
  // Emptied and filled again for every message, of which a server of a thousand ranks has many: it allocates nothing.
  class RankSet {
   public:
    explicit RankSet(int ranks) : in_(static_cast<std::size_t>(ranks)) {}
    void clear() { ++now_; }
    bool contains(int rank) const { return in_[static_cast<std::size_t>(rank)] == now_; }
    bool insert(int rank) { return std::exchange(in_[static_cast<std::size_t>(rank)], now_) != now_; }

   private:
    std::vector<std::uint64_t> in_;  // those with the newest number
    std::uint64_t now_ = 1;
  };
  struct Asked {
    int from;
    std::uint32_t entry;
    std::optional<RequestHeader> header;  // nothing: the rank has left
    Request body;                         // null: there is none
  };

  void serve() {
    listen();
    for (;;) {
      if (!asked_.empty()) wait_for_news();
      if (asked_.empty() || next_->ready()) {
        const Arrival arrival = next_->wait();
        if (!arrival.data.empty() && header_.kind() == Kind::kStop) return finish();
        take_in(arrival);
        listen();
      }
      handle_ready();
      answers_.sweep();
    }
  }

  void listen() { next_ = endpoint_.irecv(kAnyRank, at_, std::as_writable_bytes(std::span(&header_, 1))); }

  // For the next request, or for the body of a caller's first one: those behind it have to wait in any case.
  void wait_for_news() {
    any_.assign(1, next_.get());
    callers_.clear();
    for (const Asked& each : asked_)
      if (callers_.insert(each.from)) any_.push_back(each.body.get());
    endpoint_.wait_any(any_);
  }

  void take_in(const Arrival& arrival) {
    Asked asked{arrival.peer, endpoint_.entry(arrival.peer), std::nullopt, nullptr};
    if (!arrival.data.empty()) asked.header = header_;
    if (asked.header && header_.body_bytes > 0)
      asked.body = endpoint_.iborrow(arrival.peer, body_tag(at_.lane(), header_.ticket));
    asked_.push_back(std::move(asked));
  }

  // In the order in which they came, but nobody waits for the body of another rank's.
  void handle_ready() {
    callers_.clear();  // whose earlier request has no body yet
    for (auto each = asked_.begin(); each != asked_.end();) {
      const bool ready = !callers_.contains(each->from) && (!each->body || each->body->ready());
      if (!ready) {
        callers_.insert(each->from);
        ++each;
        continue;
      }
      const Asked now = std::move(*each);
      each = asked_.erase(each);
      handle(now);
    }
  }

  void handle(const Asked& asked) {
    try {
      if (!asked.header) return on_departure_(asked.from);
      const RequestHeader& h = *asked.header;
      Call call{asked.from, h.method(), h.step, h.weight, {}};
      if (asked.body) call.body = asked.body->wait().data;
      std::unique_ptr<Answer> answer;
      if (h.kind() == Kind::kCall)
        answer = std::make_unique<EndpointAnswer>(
            endpoint_, Arrival{asked.from, reply_tag(at_.lane(), h.ticket), {}}, asked.entry, answers_);
      handler_(call, std::move(answer));
    } catch (const PeerLost&) {
      if (!endpoint_.survives() || !endpoint_.here(endpoint_.rank())) throw;
    }
  }

  // Nobody asks any more.
  void finish() {
    for (const Asked& each : asked_) handle(each);
    asked_.clear();
    answers_.finish_sends();
  }

  Endpoint& endpoint_;
  const Tag at_;
  const Handler handler_;
  const OnDeparture on_departure_;
  Unattended answers_;
  std::list<Asked>
      asked_;  // and not yet handled, in the order in which they came: a caller's first has a body
  RankSet callers_{endpoint_.size()};
  std::vector<Operation*> any_;
  RequestHeader header_;  // of the next request
  Request next_;
};

Agent::Agent(Endpoint& endpoint, Tasks& tasks, Address at, Handler handler, OnDeparture on_departure)
    : endpoint_(endpoint),
      at_(request_tag(at.lane, at.service)),
      desk_(std::make_unique<Desk>(endpoint, at_, std::move(handler), on_departure)) {
  if (on_departure) endpoint_.tell_departures(at_);
  task_ = tasks.spawn("tacit-agent", [this] { desk_->run(); });
}

Agent::~Agent() {
  // The agent may be waiting for a peer that waits for us.
  if (std::uncaught_exceptions() > 0) endpoint_.fail(nullptr);
  try {
    stop();
  } catch (...) {  // whoever cares called stop()
  }
}

void Agent::stop() {
  if (!task_) return;
  // A message to ourselves: it ends the wait in every world and costs no network.
  const RequestHeader h(Kind::kStop, 0, {});
  endpoint_.isend(endpoint_.rank(), at_, header_bytes(h))->wait();
  const std::unique_ptr<Task> task = std::move(task_);
  task->join();
}

Caller::Sending::Sending(Caller& caller, std::uint32_t service, Kind kind, const Addressed& to)
    : header_(kind, caller.next_ticket_.fetch_add(2), to.call) {
  Endpoint& endpoint = caller.endpoint_;
  const Tag::Lane lane = caller.lane_;
  // First: the answer lands in its place even if it comes before anybody waits for it.
  if (kind == Kind::kCall) answer_ = endpoint.irecv(to.peer, reply_tag(lane, header_.ticket), to.reply);
  head_ = endpoint.isend(to.peer, request_tag(lane, service), header_bytes(header_));
  if (!to.call.body.empty()) body_ = endpoint.isend(to.peer, body_tag(lane, header_.ticket), to.call.body);
}

void Caller::Sending::wait() {
  head_->wait();
  if (body_) body_->wait();
}

bool Caller::Sending::over() { return head_->ready() && (!body_ || body_->ready()); }

std::unique_ptr<Caller::Sending> Caller::begin_post(int peer, std::uint32_t service, const Call& call) {
  return std::make_unique<Sending>(*this, service, Kind::kPost, Addressed{peer, call});
}

void Caller::post_all(std::uint32_t service, std::span<const Addressed> posts) {
  std::deque<Sending> sending;
  for (const Addressed& each : posts) sending.emplace_back(*this, service, Kind::kPost, each);
  for (Sending& each : sending) each.wait();
}

void Caller::call_all(std::uint32_t service, std::span<const Addressed> calls) {
  std::deque<Sending> sending;
  for (const Addressed& each : calls) sending.emplace_back(*this, service, Kind::kCall, each);
  for (Sending& each : sending) each.wait();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Arrival arrival = sending[i].answer();
    if (arrival.data.size() != calls[i].reply.size())
      refuse_length(endpoint_.rank(), arrival, calls[i].reply.size());
  }
}

bool Caller::unless_lost(const std::function<void()>& job) const {
  try {
    job();
    return true;
  } catch (const PeerLost&) {
    if (!endpoint_.survives() || !endpoint_.here(endpoint_.rank())) throw;
    return false;
  }
}

std::vector<bool> Caller::try_call_all(std::uint32_t service, std::span<const Addressed> calls) {
  std::vector<bool> answered(calls.size(), true);
  std::deque<std::optional<Sending>> sending(calls.size());
  const auto each_of_them = [&](const std::function<void(std::size_t)>& job) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (answered[i] && !unless_lost([&] { job(i); })) answered[i] = false;
  };
  each_of_them([&](std::size_t i) { sending[i].emplace(*this, service, Kind::kCall, calls[i]); });
  each_of_them([&](std::size_t i) { sending[i]->wait(); });
  each_of_them([&](std::size_t i) {
    const Arrival arrival = sending[i]->answer();
    if (arrival.data.size() == calls[i].reply.size()) return;
    if (!arrival.data.empty()) refuse_length(endpoint_.rank(), arrival, calls[i].reply.size());
    answered[i] = false;
  });
  return answered;
}

}  // namespace tacit
