// SPDX-License-Identifier: MIT
#include "tacit/collectives/endpoint_comm.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "collectives/agent.h"
#include "collectives/algorithms.h"
#include "collectives/background.h"
#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/topology/chunks.h"

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
// What one direct all-reduce works on at a time, in floats. While the vectors of a few ranks fit into a shared cache,
// small segments keep them there; once they do not, large ones cost fewer rounds (tacit bench allreduce).
constexpr std::size_t kCachedVector = (std::size_t{8} << 20U) / sizeof(float);
constexpr std::size_t kSmallSegment = (std::size_t{1} << 20U) / sizeof(float);
constexpr std::size_t kLargeSegment = (std::size_t{2} << 20U) / sizeof(float);
constexpr std::size_t kPairSegment =
    (std::size_t{4} << 20U) / sizeof(float);  // two ranks hold fewer segments at a time

// Which services this rank answers.
using Services = std::set<std::uint32_t>;

// An agent whose service is free again when it has stopped. Two agents of one service would take each other's requests.
class SoleAgent final : public Agent {
 public:
  SoleAgent(std::shared_ptr<Services> served, std::uint32_t service, std::unique_ptr<Agent> agent)
      : served_(std::move(served)), service_(service), agent_(std::move(agent)) {
    served_->insert(service_);
  }
  ~SoleAgent() override {
    agent_.reset();
    release();
  }
  SoleAgent(const SoleAgent&) = delete;
  SoleAgent& operator=(const SoleAgent&) = delete;
  void stop() override {
    agent_->stop();
    release();
  }

 private:
  void release() {
    if (std::exchange(holds_, false)) served_->erase(service_);
  }

  const std::shared_ptr<Services> served_;
  const std::uint32_t service_;
  bool holds_ = true;
  std::unique_ptr<Agent> agent_;
};

class EndpointComm final : public Comm {
 public:
  EndpointComm(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane, AllReduce algorithm)
      : endpoint_(endpoint), tasks_(tasks), lane_(lane), algorithm_(algorithm), caller_(endpoint, lane) {
    endpoint_.one_at_a_time(lane_);
  }

  int rank() const override { return endpoint_.rank(); }
  int size() const override { return endpoint_.size(); }
  Clock& clock() override { return endpoint_.clock(); }
  const Ledger& ledger() const override { return endpoint_.ledger(); }

  void sum(FloatView x) override { all_reduce(x, 1.0F); }
  void mean(FloatView x) override { all_reduce(x, 1.0F / static_cast<float>(size())); }

  void sum_among(std::span<const int> group, std::uint32_t number, FloatView x) override {
    Exchange with = Exchange(endpoint_, Channel::kGroup, lane_, number).among(group);
    TACIT_CHECK(with.rank() < with.size(), "a sum among ranks that this rank is not one of");
    if (x.size_bytes() <= kSmallBytes)
      return recursive_doubling_all_reduce(with, x, scratch_.room_for(x), 1.0F);
    if (with.size() > kMostDirectRanks) return halving_doubling_all_reduce(with, x, 1.0F);
    DirectPart whole(with, x);
    whole.begin_reduce();
    whole.end_reduce(1.0F);
    whole.begin_gather();
    whole.end_gather();
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
    some_to_all(std::vector<bool>(static_cast<std::size_t>(size()), true), out, take);
  }
  void some_to_all(const std::vector<bool>& speakers, std::span<const ConstBytes> out,
                   const Take& take) override {
    const auto ranks = static_cast<std::size_t>(size());
    TACIT_CHECK(out.size() == ranks && speakers.size() == ranks, "all_to_all needs one message per rank");
    Exchange with = next(Channel::kAllToAll);
    direct_some_to_all(with, speakers, out, take);
  }
  void broadcast(Bytes x, int root) override {
    TACIT_CHECK(root >= 0 && root < size(), "broadcast from a rank that does not exist");
    Exchange with = next(Channel::kBroadcast);
    tree_broadcast(with, x, root);
  }
  void barrier() override {
    Exchange with = next(Channel::kBarrier);
    dissemination_barrier(with);
  }

  void exchange(int peer, ConstBytes out, Bytes in) override {
    // Only two ranks take part, so the count of collectives differs between them; order alone matches.
    Exchange with(endpoint_, Channel::kExchange, lane_, 0);
    const Request receive = with.receive(peer, in, 0);
    const Request send = with.send(peer, out, 0);
    with.finish(*receive, in.size());
    send->wait();
  }

  std::unique_ptr<Pending> start(std::function<void(Comm&)> fn) override {
    if (!background_) {
      TACIT_CHECK(lane_ == Tag::Lane::kTrain, "only the trainer's Comm has a background");
      behind_ = make_endpoint_comm(endpoint_, tasks_, Tag::Lane::kBackground, algorithm_);
      background_ = std::make_unique<Background>(tasks_, endpoint_, *behind_);
    }
    return background_->start(std::move(fn));
  }

  std::unique_ptr<Agent> serve(std::uint32_t service, Handler handler) override {
    if (served_->contains(service))
      throw InvalidConfig(
          "this rank already runs a strategy that answers its peers in the background, and it can run one of "
          "that kind "
          "at a time; finish() the first, or give one of the two a strategy without, such as ssgd or local");
    return std::make_unique<SoleAgent>(served_, service,
                                       make_agent(endpoint_, tasks_, lane_, service, std::move(handler)));
  }
  void post_all(std::uint32_t service, std::span<const Addressed> posts) override {
    caller_.post_all(service, posts);
  }
  void call_all(std::uint32_t service, std::span<const Addressed> calls) override {
    caller_.call_all(service, calls);
  }

 private:
  bool few_ranks() const { return size() <= kMostDirectRanks; }
  Exchange next(Channel channel) { return {endpoint_, channel, lane_, count_++}; }

  // Segment by segment, so that what one phase wrote is still in the cache when the next one reads it, and overlapping,
  // so that the network always has something to carry (bench/link_usage).
  void direct_all_reduce(FloatView x, float factor) {
    const std::size_t step = x.size() <= kCachedVector ? kSmallSegment
                             : size() == 2             ? kPairSegment
                                                       : kLargeSegment;
    std::unique_ptr<DirectPart> gathering;
    std::unique_ptr<DirectPart> reducing;
    for (std::size_t at = 0; at < x.size() || reducing; at += step) {
      std::unique_ptr<DirectPart> ahead;
      if (at < x.size()) {
        ahead = std::make_unique<DirectPart>(next(Channel::kAllReduce),
                                             part(x, {at, std::min(step, x.size() - at)}));
        ahead->begin_reduce();
      }
      if (reducing) {
        reducing->end_reduce(factor);
        reducing->begin_gather();
      }
      if (gathering) gathering->end_gather();
      gathering = std::move(reducing);
      reducing = std::move(ahead);
    }
    if (gathering) gathering->end_gather();
  }

  void all_reduce(FloatView x, float factor) {
    const bool choose = algorithm_ == AllReduce::kAuto;
    const AllReduce algorithm = choose ? choose_all_reduce(size(), x.size_bytes()) : algorithm_;
    if (algorithm == AllReduce::kDirect) return direct_all_reduce(x, factor);
    Exchange with = next(Channel::kAllReduce);
    switch (algorithm) {
      case AllReduce::kRecursiveDoubling:
        return recursive_doubling_all_reduce(with, x, scratch_.room_for(x), factor);
      case AllReduce::kHalvingDoubling:
        return halving_doubling_all_reduce(with, x, factor);
      case AllReduce::kRing:
        ring_reduce_scatter(with, x, factor);
        return ring_all_gather(with, x);
      default:
        throw Bug("choose_all_reduce chose nothing");
    }
  }

  Endpoint& endpoint_;
  Tasks& tasks_;
  const Tag::Lane lane_;
  const AllReduce algorithm_;
  std::uint32_t count_ = 0;  // collectives so far: their number in the tags
  Buffer scratch_;
  const std::shared_ptr<Services> served_ = std::make_shared<Services>();
  Caller caller_;
  std::unique_ptr<Comm> behind_;            // used by the background task alone
  std::unique_ptr<Background> background_;  // last: it ends before what it uses
};

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
  return std::make_unique<EndpointComm>(endpoint, tasks, lane, algorithm);
}

}  // namespace tacit
