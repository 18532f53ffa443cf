// SPDX-License-Identifier: MIT
#include "collectives/mpi/native_comm.h"

#include <mpi.h>
#include <sched.h>

#include <array>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "collectives/endpoint_comm.h"
#include "collectives/exchange_queue.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "transport/limits.h"
#include "transport/mpi/mpi_fabric.h"

namespace tacit {

class NativeLanes {
 public:
  NativeLanes() {
    for (MPI_Comm& each : comms_) MPI_Comm_dup(MPI_COMM_WORLD, &each);
  }
  MPI_Comm operator[](Tag::Lane lane) const { return comms_[static_cast<std::size_t>(lane)]; }

 private:
  std::array<MPI_Comm, static_cast<std::size_t>(Tag::Lane::kFirstFork)> comms_{};  // forks use messages
};

std::shared_ptr<const NativeLanes> make_native_lanes() { return std::make_shared<const NativeLanes>(); }

namespace {

using Channel = Tag::Channel;

// After so many looks a rank lets others have the core, and after so many it rests in between.
constexpr int kBusyLooks = 50;
constexpr int kLooks = 500;
constexpr Seconds kRest{50e-6};

// Collectives are started and looked at, never entered: in a blocking one a rank could not see that another has failed.
class NativeComm final : public Comm {
 public:
  NativeComm(std::shared_ptr<const NativeLanes> lanes, Endpoint& endpoint, Tasks& tasks, Tag::Lane lane,
             const WaitLimits& limits)
      : lanes_(std::move(lanes)),
        comm_((*lanes_)[lane]),
        endpoint_(endpoint),
        tasks_(tasks),
        lane_(lane),
        limits_(checked(limits)),
        messages_(make_endpoint_comm(endpoint, tasks, lane)) {}

  int rank() const override { return endpoint_.rank(); }
  int size() const override { return endpoint_.size(); }
  Clock& clock() override { return endpoint_.clock(); }
  const Ledger& ledger() const override { return endpoint_.ledger(); }
  Slice own_slice(std::size_t count, int rank) const override { return messages_->own_slice(count, rank); }

  void sum(FloatView x) override {
    if (!fits(x.size())) return messages_->sum(x);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, x.host().data(), static_cast<int>(x.size()), MPI_FLOAT, MPI_SUM, comm_,
                   &request);
    finish(request, Channel::kAllReduce);
  }
  void mean(FloatView x) override {
    sum(x);
    kernels::scale(1.0F / static_cast<float>(size()), x);
  }
  void sum_among(std::span<const int> group, std::uint32_t number, FloatView x) override {
    messages_->sum_among(group, number, x);
  }
  void reduce_scatter(FloatView x) override {
    if (!fits(x.size())) return messages_->reduce_scatter(x);
    const Cut cut(*this, x.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ireduce_scatter(MPI_IN_PLACE, x.host().data(), cut.counts.data(), MPI_FLOAT, MPI_SUM, comm_,
                        &request);
    finish(request, Channel::kReduceScatter);
    // MPI leaves the own part at the front.
    const Slice own = own_slice(x.size(), rank());
    if (own.count > 0) std::memmove(&x.host()[own.offset], x.host().data(), own.count * sizeof(float));
  }
  void all_gather(FloatView x) override {
    if (!fits(x.size())) return messages_->all_gather(x);
    const Cut cut(*this, x.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, x.host().data(), cut.counts.data(), cut.offsets.data(),
                    MPI_FLOAT, comm_, &request);
    finish(request, Channel::kAllGather);
  }
  void broadcast(Bytes x, int root) override {
    TACIT_CHECK(root >= 0 && root < size(), "broadcast from a rank that does not exist");
    if (!fits(x.size())) return messages_->broadcast(x, root);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(x.data(), static_cast<int>(x.size()), MPI_BYTE, root, comm_, &request);
    finish(request, Channel::kBroadcast);
  }
  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &request);
    finish(request, Channel::kBarrier);
  }

  // MPI's own would have to be told every length first.
  void all_to_all(std::span<const ConstBytes> out, const Take& take) override {
    messages_->all_to_all(out, take);
  }
  void some_to_all(const std::vector<bool>& speakers, std::span<const ConstBytes> out, const Take& take,
                   Deadline deadline) override {
    messages_->some_to_all(speakers, out, take, deadline);
  }
  std::vector<bool> swap(std::span<const Swap> with, Deadline deadline) override {
    return messages_->swap(with, deadline);
  }
  void exchange(int peer, ConstBytes out, Bytes in) override { messages_->exchange(peer, out, in); }
  std::unique_ptr<Service> serve(Handler handler) override { return messages_->serve(std::move(handler)); }
  std::unique_ptr<Comm> fork(const std::string& name) override { return messages_->fork(name); }

  std::unique_ptr<Pending> start(std::function<void(Collectives&)> fn) override {
    return background().start(std::move(fn));
  }
  std::unique_ptr<Pending> start_fed(std::function<void(Collectives&)> fn,
                                     std::shared_ptr<const bool> fed) override {
    return background().start_fed(std::move(fn), std::move(fed));
  }

 private:
  ExchangeQueue& background() {
    if (!background_) {
      TACIT_CHECK(lane_ == Tag::Lane::kTrain, "only the trainer's Comm and its forks have a background");
      behind_ = make_native_comm(lanes_, endpoint_, tasks_, Tag::Lane::kBackground, limits_);
      background_ = std::make_unique<ExchangeQueue>(tasks_, endpoint_, "exchange", *behind_);
    }
    return *background_;
  }
  // Every rank's part of a vector, as MPI wants it.
  struct Cut {
    Cut(const Comm& comm, std::size_t count) {
      for (int rank = 0; rank < comm.size(); ++rank) {
        const Slice slice = comm.own_slice(count, rank);
        counts.push_back(static_cast<int>(slice.count));
        offsets.push_back(static_cast<int>(slice.offset));
      }
    }
    std::vector<int> counts;
    std::vector<int> offsets;
  };

  // MPI counts in int.
  static bool fits(std::size_t count) { return count <= INT_MAX; }

  void finish(MPI_Request& request, Channel channel) {
    const Tag tag(channel, lane_, count_++, UINT16_MAX);
    const auto wait = [&] {
      return "rank " + std::to_string(rank()) + " waits for all ranks in native " + tag.text();
    };
    try {
      const Request watch = endpoint_.irecv(kAnyRank, tag, {});  // for a message that nobody sends
      wait_within(limits_, endpoint_.clock(), wait,
                  [&](Deadline deadline) { return look_until(request, *watch, deadline); });
    } catch (...) {
      abandon_mpi(endpoint_, std::current_exception());  // MPI goes on with our caller's memory
      throw;
    }
  }

  // Looking at the watch also serves this rank's other tasks, and throws where a rank has failed.
  bool look_until(MPI_Request& request, Operation& watch, Deadline deadline) {
    for (int looks = 0;; ++looks) {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return true;
      const Seconds now = endpoint_.clock().now();
      if (now >= deadline) return false;
      if (watch.ready_by(looks < kLooks ? now : now + kRest)) watch.wait();
      if (looks >= kBusyLooks) sched_yield();
    }
  }

  const std::shared_ptr<const NativeLanes> lanes_;
  const MPI_Comm comm_;
  Endpoint& endpoint_;
  Tasks& tasks_;
  const Tag::Lane lane_;
  const WaitLimits limits_;
  const std::unique_ptr<Comm> messages_;
  std::uint32_t count_ = 0;                    // collectives so far
  std::unique_ptr<Comm> behind_;               // used by the background task alone
  std::unique_ptr<ExchangeQueue> background_;  // last: it ends before what it uses
};

}  // namespace

std::unique_ptr<Comm> make_native_comm(std::shared_ptr<const NativeLanes> lanes, Endpoint& endpoint,
                                       Tasks& tasks, Tag::Lane lane, const WaitLimits& limits) {
  return std::make_unique<NativeComm>(std::move(lanes), endpoint, tasks, lane, limits);
}

}  // namespace tacit
