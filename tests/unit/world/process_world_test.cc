// SPDX-License-Identifier: MIT
// The rules of a world that is one rank per process, over endpoints of one process so that all ranks can be watched.
#include <gtest/gtest.h>

#include <mutex>

#include "support/on_every_rank.h"
#include "tacit/core/error.h"
#include "transport/fabric.h"
#include "world/backend.h"

namespace tacit::test {
namespace {

// One rank's way into an InprocFabric, which remembers how the rank left.
class OneRank final : public Fabric {
 public:
  OneRank(InprocFabric& all, int rank, std::vector<Departure>& departures)
      : all_(all), rank_(rank), departures_(departures) {}
  Endpoint& endpoint() override { return all_.endpoint(rank_); }
  void leave(const Departure& how) override {
    departures_[static_cast<std::size_t>(rank_)] = how;
    all_.leave(rank_, how.failed ? InprocFabric::Leave::kFailed : InprocFabric::Leave::kDone, how.why);
  }
  std::exception_ptr cause() override { return all_.cause(rank_); }
  void interrupt() override { all_.interrupt(); }

 private:
  InprocFabric& all_;
  const int rank_;
  std::vector<Departure>& departures_;
};

struct Ended {
  std::vector<Departure> departures;
  std::vector<std::exception_ptr> errors;  // what each run() threw
};

Ended run_processes(int ranks, const std::function<void(World::Impl&, Process&)>& body) {
  const auto count = static_cast<std::size_t>(ranks);
  Ended ended{std::vector<Departure>(count), std::vector<std::exception_ptr>(count)};
  InprocFabric fabric(ranks, test_limits());
  run_ranks(ranks, [&](int rank) {
    const auto world = make_process_world(std::make_unique<OneRank>(fabric, rank, ended.departures), "test",
                                          own_collectives({}, "test"));
    try {
      world->run([&](Process& me) { body(*world, me); });
    } catch (...) {
      ended.errors[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  });
  return ended;
}

template <class E>
bool is(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const E&) {
    return true;
  } catch (...) {
  }
  return false;
}

TEST(ProcessWorld, RunsTheBodyForItsOwnRank) {
  const Ended ended = run_processes(3, [](World::Impl& world, Process& me) {
    EXPECT_EQ(me.rank(), world.rank());
    EXPECT_EQ(me.size(), 3);
    EXPECT_EQ(world.size(), 3);
    EXPECT_FALSE(world.one_process());
    float sum = 1;
    me.comm().sum(std::span(&sum, 1));
    EXPECT_EQ(sum, 3.0F);
  });
  for (const Departure& d : ended.departures) EXPECT_FALSE(d.failed) << d.why;
  for (const auto& error : ended.errors) EXPECT_EQ(error, nullptr);
}

TEST(ProcessWorld, AnErrorIsRethrownHereAndALossElsewhere) {
  const Ended ended = run_processes(3, [](World::Impl&, Process& me) {
    if (me.rank() == 1) throw Diverged(1, 7, "the loss is not a number");
    me.comm().barrier();
    me.comm().barrier();
  });
  EXPECT_TRUE(is<Diverged>(ended.errors[1]));
  EXPECT_EQ(ended.departures[1].why, "rank 1, step 7: the loss is not a number");
  EXPECT_EQ(ended.departures[1].culprit, kAnyRank);
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_TRUE(is<PeerLost>(ended.errors[rank]));
    EXPECT_TRUE(ended.departures[rank].failed);
    EXPECT_NE(ended.departures[rank].culprit, kAnyRank);
  }
}

TEST(ProcessWorld, AnAgentsErrorReplacesALossAndNothingElse) {
  const auto failing_agent = [](const Call&, std::unique_ptr<Answer>) { throw Mismatch("on purpose"); };
  Ended ended = run_processes(2, [&](World::Impl&, Process& me) {
    const auto service = me.comm().serve(failing_agent);
    float reply = 0;
    if (me.rank() == 0) service->call(1, {}, std::as_writable_bytes(std::span(&reply, 1)));
    me.comm().barrier();
  });
  EXPECT_TRUE(is<PeerLost>(ended.errors[0]));
  EXPECT_TRUE(is<Mismatch>(ended.errors[1]));
  ended = run_processes(1, [&](World::Impl&, Process& me) {
    const auto service = me.comm().serve(failing_agent);
    service->post(0, {});
    EXPECT_THROW(service->stop(), Mismatch);
    throw Diverged(0, 0, "its own");
  });
  EXPECT_TRUE(is<Diverged>(ended.errors[0]));
}

TEST(ProcessWorld, AnInterruptEndsItsWaits) {
  const Ended ended = run_processes(2, [](World::Impl& world, Process& me) {
    if (me.rank() == 0) return world.interrupt();
    me.comm().barrier();  // rank 0 never comes
  });
  EXPECT_TRUE(is<Interrupted>(ended.errors[1]));
}

TEST(ProcessWorld, OneThatNeverRanIsLostToItsPeers) {
  std::vector<Departure> departures(2);
  InprocFabric fabric(2, test_limits());
  {
    const auto never = make_process_world(std::make_unique<OneRank>(fabric, 1, departures), "test",
                                          own_collectives({}, "test"));
  }
  EXPECT_TRUE(departures[1].failed);
  EXPECT_THROW(fabric.endpoint(0).irecv(1, Tag(Tag::Channel::kExchange, Tag::Lane::kTrain, 0), {})->wait(),
               PeerLost);
}

}  // namespace
}  // namespace tacit::test
