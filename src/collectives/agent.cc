// SPDX-License-Identifier: MIT
#include "collectives/agent.h"

#include <deque>
#include <exception>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

enum Kind : std::uint32_t { kPost = 1, kCall = 2, kStop = 3 };

Tag request_tag(Tag::Lane lane, std::uint32_t service) { return {Tag::Channel::kRequest, lane, service}; }
Tag body_tag(Tag::Lane lane, std::uint32_t ticket) { return {Tag::Channel::kRequestBody, lane, ticket}; }
Tag reply_tag(Tag::Lane lane, std::uint32_t ticket) { return {Tag::Channel::kReply, lane, ticket}; }

ConstBytes header_bytes(const RequestHeader& h) { return std::as_bytes(std::span(&h, 1)); }

class EndpointAnswer final : public Answer {
 public:
  EndpointAnswer(Endpoint& endpoint, int to, Tag tag) : endpoint_(endpoint), to_(to), tag_(tag) {}
  Request begin(ConstBytes reply) override { return endpoint_.isend(to_, tag_, reply); }

 private:
  Endpoint& endpoint_;
  int to_;
  Tag tag_;
};

class EndpointAgent final : public Agent {
 public:
  EndpointAgent(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane, std::uint32_t service, Handler handler,
                std::function<void(int)> on_departure)
      : endpoint_(endpoint),
        lane_(lane),
        service_(service),
        handler_(std::move(handler)),
        on_departure_(std::move(on_departure)) {
    if (on_departure_) endpoint_.tell_departures(request_tag(lane_, service_));
    task_ = tasks.spawn("tacit-agent", [this] { run(); });
  }
  EndpointAgent(const EndpointAgent&) = delete;
  EndpointAgent& operator=(const EndpointAgent&) = delete;

  ~EndpointAgent() override {
    // The agent may be waiting for a peer that waits for us.
    if (std::uncaught_exceptions() > 0) endpoint_.fail(nullptr);
    try {
      stop();
    } catch (...) {  // whoever cares called stop()
    }
  }

  void stop() override {
    if (!task_) return;
    // A message to ourselves: it ends the wait in every world and costs no network.
    const RequestHeader h{.kind = kStop};
    endpoint_.isend(endpoint_.rank(), request_tag(lane_, service_), header_bytes(h))->wait();
    const std::unique_ptr<Task> task = std::move(task_);
    task->join();
  }

 private:
  // Callers wait for this agent and would wait in vain: tell them.
  void run() {
    try {
      serve();
    } catch (const Interrupted&) {
      throw;  // everybody knows
    } catch (...) {
      endpoint_.fail(std::current_exception());
      throw;
    }
  }

  void serve() {
    for (;;) {
      RequestHeader h;
      const Request request =
          endpoint_.irecv(kAnyRank, request_tag(lane_, service_), std::as_writable_bytes(std::span(&h, 1)));
      const Arrival arrival = request->wait();
      if (h.kind == kStop) return;
      try {
        arrival.data.empty() ? on_departure_(arrival.peer) : handle(arrival.peer, h);
      } catch (const PeerLost&) {
        if (!endpoint_.survives() || !endpoint_.here(endpoint_.rank())) throw;
      }
    }
  }

  void handle(int from, const RequestHeader& h) {
    Request body;
    Call call{from, h.method, h.step, {}};
    if (h.body_bytes > 0) {
      body = endpoint_.iborrow(from, body_tag(lane_, h.ticket));
      call.body = body->wait().data;
    }
    handler_(call, h.kind == kCall
                       ? std::make_unique<EndpointAnswer>(endpoint_, from, reply_tag(lane_, h.ticket))
                       : nullptr);
  }

  Endpoint& endpoint_;
  const Tag::Lane lane_;
  const std::uint32_t service_;
  Handler handler_;
  std::function<void(int)> on_departure_;
  std::unique_ptr<Task> task_;
};

}  // namespace

Caller::Sending::Sending(Caller& caller, std::uint32_t service, std::uint32_t kind, const Addressed& to)
    : header_{.body_bytes = to.call.body.size(),
              .step = to.call.step,
              .method = to.call.method,
              .ticket = caller.next_ticket_.fetch_add(2),
              .kind = kind} {
  Endpoint& endpoint = caller.endpoint_;
  const Tag::Lane lane = caller.lane_;
  // First: the answer lands in its place even if it comes before anybody waits for it.
  if (kind == kCall) answer_ = endpoint.irecv(to.peer, reply_tag(lane, header_.ticket), to.reply);
  head_ = endpoint.isend(to.peer, request_tag(lane, service), header_bytes(header_));
  if (!to.call.body.empty()) body_ = endpoint.isend(to.peer, body_tag(lane, header_.ticket), to.call.body);
}

void Caller::Sending::wait() {
  head_->wait();
  if (body_) body_->wait();
}

bool Caller::Sending::over() { return head_->ready_by({}) && (!body_ || body_->ready_by({})); }

std::unique_ptr<Caller::Sending> Caller::begin_post(int peer, std::uint32_t service, const Call& call) {
  return std::make_unique<Sending>(*this, service, kPost, Addressed{peer, call});
}

void Caller::post_all(std::uint32_t service, std::span<const Addressed> posts) {
  std::deque<Sending> sending;
  for (const Addressed& each : posts) sending.emplace_back(*this, service, kPost, each);
  for (Sending& each : sending) each.wait();
}

void Caller::call_all(std::uint32_t service, std::span<const Addressed> calls) {
  std::deque<Sending> sending;
  for (const Addressed& each : calls) sending.emplace_back(*this, service, kCall, each);
  for (Sending& each : sending) each.wait();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Arrival arrival = sending[i].answer();
    if (arrival.data.size() != calls[i].reply.size())
      refuse_length(endpoint_.rank(), arrival, calls[i].reply.size());
  }
}

std::unique_ptr<Agent> make_agent(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane, std::uint32_t service,
                                  Handler handler, std::function<void(int)> on_departure) {
  return std::make_unique<EndpointAgent>(endpoint, tasks, lane, service, std::move(handler),
                                         std::move(on_departure));
}

}  // namespace tacit
