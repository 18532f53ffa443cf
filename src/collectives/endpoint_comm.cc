// SPDX-License-Identifier: MIT
#include "collectives/endpoint_comm.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/agent.h"
#include "collectives/algorithms.h"
#include "collectives/exchange_queue.h"
#include "collectives/swap_round.h"
#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "topology/chunks.h"

namespace tacit {
namespace {

using Channel = Tag::Channel;

// Everyone talking to everyone stops paying when a rank has too many peers at once.
constexpr int kMostDirectRanks = 16;
// Up to here, for a whole vector or for one chunk of it, rounds cost more than bytes: messages of this size are copied
// anyway, and the fewest win (bench/collectives_bench; docs/collectives.md has the table).
constexpr std::size_t kSmallBytes = std::size_t{16} * 1024;
// Beyond the direct range a ring's 2 (P-1) rounds pay only where each still carries this much per rank.
constexpr std::size_t kRingBytesPerRank = std::size_t{256} * 1024;
// A service of this rank, by its number on the Comm.
class EndpointService final : public Service {
 public:
  EndpointService(Caller& caller, Endpoint& endpoint, Tasks& tasks, Agent::Address address)
      : caller_(caller), endpoint_(endpoint), tasks_(tasks), address_(address) {}
  void answer(Handler handler) override {
    TACIT_CHECK(!agent_ && handler, "a service answers by one handler");
    agent_ = std::make_unique<Agent>(endpoint_, tasks_, address_, std::move(handler));
  }
  void stop() override {
    if (agent_) agent_->stop();
  }
  void post_all(std::span<const Addressed> posts) override { caller_.post_all(address_.service, posts); }
  void call_all(std::span<const Addressed> calls) override { caller_.call_all(address_.service, calls); }
  std::vector<bool> try_call_all(std::span<const Addressed> calls) override {
    return caller_.try_call_all(address_.service, calls);
  }

 private:
  Caller& caller_;
  Endpoint& endpoint_;
  Tasks& tasks_;
  const Agent::Address address_;
  std::unique_ptr<Agent> agent_;  // null where this rank answers nobody
};

// The lane of what a Comm's background does.
Tag::Lane lane_behind(Tag::Lane lane) {
  if (lane == Tag::Lane::kTrain) return Tag::Lane::kBackground;
  const int fork = static_cast<int>(lane) - static_cast<int>(Tag::Lane::kFirstFork);
  TACIT_CHECK(fork >= 0 && fork % 2 == 0, "only the trainer's Comm and its forks have a background");
  return static_cast<Tag::Lane>(static_cast<int>(lane) + 1);
}

class EndpointComm final : public Comm {
 public:
  EndpointComm(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane, AllReduce algorithm, std::string name)
      : endpoint_(endpoint),
        tasks_(tasks),
        lane_(lane),
        algorithm_(algorithm),
        name_(std::move(name)),
        caller_(endpoint, lane) {
    endpoint_.one_at_a_time(lane_);
  }

  int rank() const override { return endpoint_.rank(); }
  int size() const override { return endpoint_.size(); }
  Clock& clock() override { return endpoint_.clock(); }
  const Ledger& ledger() const override { return endpoint_.ledger(); }

  void sum(FloatView x) override { all_reduce(x, 1.0F); }
  void mean(FloatView x) override { all_reduce(x, 1.0F / static_cast<float>(size())); }
  void mean_each(const NextPart& next) override {
    std::optional<FloatView> alone;  // a part that does not go like the others
    do {
      alone.reset();
      const NextPart direct = [&](bool wait) -> std::optional<FloatView> {
        if (!alone) {
          const auto part = next(wait);
          if (!part || algorithm_for(*part) == AllReduce::kDirect) return part;
          alone = part;
        }
        return std::nullopt;
      };
      direct_each(direct, 1.0F / static_cast<float>(size()));
      if (alone) mean(*alone);
    } while (alone);
  }

  void sum_among(std::span<const int> group, std::uint32_t number, FloatView x) override {
    Exchange with = Exchange(endpoint_, Channel::kGroup, lane_, number).among(group);
    TACIT_CHECK(with.rank() < with.size(), "a sum among ranks that this rank is not one of");
    if (x.size_bytes() <= kSmallBytes)
      return recursive_doubling_all_reduce(with, x, scratch_.room(x.size(), x), 1.0F);
    if (with.size() > kMostDirectRanks) return halving_doubling_all_reduce(with, x, 1.0F);
    direct_all_reduce(with, x, 1.0F);
  }

  Slice own_slice(std::size_t count, int rank) const override { return chunk(count, size(), rank); }

  void reduce_scatter(FloatView x) override {
    Exchange with = next(Channel::kReduceScatter);
    few_ranks() ? direct_reduce_scatter(with, x, 1.0F) : ring_reduce_scatter(with, x, 1.0F);
  }
  void all_gather(FloatView x) override {
    Exchange with = next(Channel::kAllGather);
    few_ranks() ? direct_all_gather(with, x) : ring_all_gather(with, x);
  }
  void all_to_all(std::span<const ConstBytes> out, const Take& take) override {
    some_to_all(std::vector<bool>(static_cast<std::size_t>(size()), true), out, take, kNever);
  }
  void some_to_all(const std::vector<bool>& speakers, std::span<const ConstBytes> out, const Take& take,
                   Deadline deadline) override;
  void broadcast(Bytes x, int root) override {
    TACIT_CHECK(root >= 0 && root < size(), "broadcast from a rank that does not exist");
    Exchange with = next(Channel::kBroadcast);
    tree_broadcast(with, x, root);
  }
  void barrier() override {
    Exchange with = next(Channel::kBarrier);
    dissemination_barrier(with);
  }

  std::vector<bool> swap(std::span<const Swap> with, Deadline deadline) override;
  void exchange(int peer, ConstBytes out, Bytes in) override {
    SwapRound round(endpoint_, unattended_, SwapRound::Manner::kPatient);
    round.expect(peer, from_peer(peer), in);
    round.send(peer, to_peer(peer), out);
    round.take(0);
    round.finish();
  }

  std::unique_ptr<Pending> start(std::function<void(Collectives&)> fn) override {
    return background().start(std::move(fn));
  }
  std::unique_ptr<Pending> start_fed(std::function<void(Collectives&)> fn,
                                     std::shared_ptr<const bool> fed) override {
    return background().start_fed(std::move(fn), std::move(fed));
  }
  std::unique_ptr<Comm> fork(const std::string& name) override {
    TACIT_CHECK(lane_ == Tag::Lane::kTrain, "only the trainer's Comm has forks");
    if (forks_ == Tag::kForks)
      throw InvalidConfig("this world has forked its Comm " + std::to_string(forks_) +
                          " times, for strategies and protocols that run beside a trainer, and has no lane "
                          "left for another; make a new world after so many");
    return std::make_unique<EndpointComm>(endpoint_, tasks_, Tag::fork_lane(forks_++), algorithm_, name);
  }

  std::unique_ptr<Service> serve(Handler handler) override {
    auto service =
        std::make_unique<EndpointService>(caller_, endpoint_, tasks_, Agent::Address{lane_, services_++});
    if (handler) service->answer(std::move(handler));
    return service;
  }

 private:
  ExchangeQueue& background() {
    if (!background_) {
      behind_ = make_endpoint_comm(endpoint_, tasks_, lane_behind(lane_), algorithm_);
      background_ = std::make_unique<ExchangeQueue>(tasks_, endpoint_, name_, *behind_);
    }
    return *background_;
  }
  bool few_ranks() const { return size() <= kMostDirectRanks; }
  Exchange next(Channel channel) { return {endpoint_, channel, lane_, count_++}; }
  // Of the next message to or from a peer in swaps and exchanges. Other ranks take no part in them, so that each pair
  // counts its own.
  Tag to_peer(int peer) { return {Channel::kExchange, lane_, sent_to_[peer]++}; }
  Tag from_peer(int peer) { return {Channel::kExchange, lane_, received_from_[peer]++}; }

  AllReduce algorithm_for(FloatView x) const {
    return algorithm_ == AllReduce::kAuto ? choose_all_reduce(size(), x.size_bytes()) : algorithm_;
  }
  void all_reduce(FloatView x, float factor) {
    const AllReduce algorithm = algorithm_for(x);
    if (algorithm == AllReduce::kDirect) return direct_each(once(x), factor);
    Exchange with = next(Channel::kAllReduce);
    switch (algorithm) {
      case AllReduce::kRecursiveDoubling:
        return recursive_doubling_all_reduce(with, x, scratch_.room(x.size(), x), factor);
      case AllReduce::kHalvingDoubling:
        return halving_doubling_all_reduce(with, x, factor);
      case AllReduce::kRing:
        ring_reduce_scatter(with, x, factor);
        return ring_all_gather(with, x);
      default:
        throw Bug("choose_all_reduce chose nothing");
    }
  }

  void direct_each(const NextPart& parts, float factor) {
    segmented_all_reduce([this] { return next(Channel::kAllReduce); }, parts, factor);
  }
  static NextPart once(FloatView x) {
    return [x, given = false](bool /*wait*/) mutable {
      return std::exchange(given, true) ? std::nullopt : std::optional(x);
    };
  }

  Endpoint& endpoint_;
  Tasks& tasks_;
  const Tag::Lane lane_;
  const AllReduce algorithm_;
  const std::string name_;
  std::uint32_t count_ = 0;                     // collectives so far: their number in the tags
  std::map<int, std::uint32_t> sent_to_;        // messages so far, by peer
  std::map<int, std::uint32_t> received_from_;  // likewise
  std::uint32_t services_ = 0;                  // so far; a number is not used again
  int forks_ = 0;                               // likewise
  Unattended unattended_;                       // what swaps have left behind
  Buffer scratch_;
  Caller caller_;
  std::unique_ptr<Comm> behind_;               // used by the background task alone
  std::unique_ptr<ExchangeQueue> background_;  // last: it ends before what it uses
};

void EndpointComm::some_to_all(const std::vector<bool>& speakers, std::span<const ConstBytes> out,
                               const Take& take, Deadline deadline) {
  const auto ranks = static_cast<std::size_t>(size());
  TACIT_CHECK(out.size() == ranks && speakers.size() == ranks, "all_to_all needs one message per rank");
  const auto speaks = [&](int rank) { return speakers[static_cast<std::size_t>(rank)]; };
  const Tag tag(Channel::kAllToAll, lane_, count_++);
  SwapRound round(endpoint_, unattended_,
                  deadline == kNever ? SwapRound::Manner::kPatient : SwapRound::Manner::kImpatient, deadline);
  std::vector<std::size_t> from(ranks);
  const std::vector<int> peers = peers_of(rank(), size());
  for (const int peer : peers)
    if (speaks(peer)) from[static_cast<std::size_t>(peer)] = round.expect(peer, tag);
  for (const int peer : peers)
    if (speaks(rank())) round.send(peer, tag, out[static_cast<std::size_t>(peer)]);
  for (int each = 0; each < size(); ++each) {
    const auto at = static_cast<std::size_t>(each);
    if (!speaks(each)) continue;
    if (each == rank()) {
      take(each, out[at]);
    } else if (const auto message = round.take(from[at])) {
      take(each, *message);
      round.release(from[at]);  // its sender may go on
    }
  }
  round.finish();
}

std::vector<bool> EndpointComm::swap(std::span<const Swap> with, Deadline deadline) {
  const bool patient = deadline == kNever && !endpoint_.survives();
  SwapRound round(endpoint_, unattended_,
                  patient ? SwapRound::Manner::kPatient : SwapRound::Manner::kImpatient, deadline);
  for (const Swap& each : with)
    if (!each.in.empty()) round.expect(each.peer, from_peer(each.peer), bytes_of(each.in));
  for (const Swap& each : with)
    if (!each.out.empty()) round.send(each.peer, to_peer(each.peer), bytes_of(each.out));
  std::vector<bool> came;
  std::size_t next = 0;
  for (const Swap& each : with) came.push_back(each.in.empty() || round.take(next++));
  round.finish();
  return came;
}

}  // namespace

AllReduce choose_all_reduce(int ranks, std::size_t bytes) {
  if (bytes <= kSmallBytes) return AllReduce::kRecursiveDoubling;
  const std::size_t chunk_bytes = bytes / static_cast<std::size_t>(ranks);
  if (ranks <= kMostDirectRanks && chunk_bytes > kSmallBytes) return AllReduce::kDirect;
  if (ranks > kMostDirectRanks && chunk_bytes >= kRingBytesPerRank) return AllReduce::kRing;
  return AllReduce::kHalvingDoubling;
}

std::unique_ptr<Comm> make_endpoint_comm(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane,
                                         AllReduce algorithm) {
  return std::make_unique<EndpointComm>(endpoint, tasks, lane, algorithm, "exchange");
}

}  // namespace tacit
