// SPDX-License-Identifier: MIT
// Collectives between processes: by messages they have the bits of every other world, by MPI nearly so.
#include <gtest/gtest.h>

#include <cmath>

#include "collectives/mpi/native_comm.h"
#include "mpi/harness.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit::test {
namespace {

constexpr int kRanks = 4;
const std::vector<std::size_t> kLengths{0, 1, 17, 5000, 70'000, 2'000'000};

std::vector<float> random_vector(std::size_t count, int rank) {
  Rng rng(7, rank, 0, Rng::Use::kData);
  std::vector<float> x(count);
  for (float& v : x) v = rng.normal();
  return x;
}

// What `exchange` makes of rank 0's vector in a world of threads.
std::vector<float> in_threads(std::size_t count, const std::function<void(Comm&, FloatView)>& exchange) {
  std::vector<float> result;
  on_every_comm(kRanks, [&](Comm& comm) {
    auto x = random_vector(count, comm.rank());
    exchange(comm, x);
    if (comm.rank() == 0) result = x;
  });
  return result;
}

void with_messages(int ranks, const std::function<void(Comm&)>& body) {
  run_processes(ranks, test_limits(), [&](TestRank& me) {
    ThreadTasks tasks;
    body(*make_endpoint_comm(me.endpoint, tasks, Tag::Lane::kTrain));
  });
}

// Over all processes: native communicators are those of MPI_COMM_WORLD.
void with_native(const std::function<void(Comm&)>& body) {
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  run_processes(processes, test_limits(), [&](TestRank& me) {
    ThreadTasks tasks;
    body(*make_native_comm(make_native_lanes(), me.endpoint, tasks, Tag::Lane::kTrain, test_limits()));
  });
}

TEST(MpiCollectives, SumsAndMeansHaveTheBitsOfThreads) {
  for (const std::size_t count : kLengths) {
    const auto sum = in_threads(count, [](Comm& comm, FloatView x) { comm.sum(x); });
    const auto mean = in_threads(count, [](Comm& comm, FloatView x) { comm.mean(x); });
    with_messages(kRanks, [&](Comm& comm) {
      auto x = random_vector(count, comm.rank());
      comm.sum(x);
      EXPECT_TRUE(x == sum) << count << " floats";
      x = random_vector(count, comm.rank());
      comm.mean(x);
      EXPECT_TRUE(x == mean) << count << " floats";
    });
  }
}

TEST(MpiCollectives, BackgroundExchangesAndAgentsRunBesideTheTrainer) {
  with_messages(3, [](Comm& comm) {
    const auto service = comm.serve([](const Call& call, std::unique_ptr<Answer> answer) {
      float doubled = 2 * floats_in(call.body).host()[0];
      answer->send(std::as_bytes(std::span(&doubled, 1)));
    });
    std::vector<float> behind(100'000, 1.0F);
    const auto pending = comm.start([&](Collectives& c) { c.sum(behind); });
    for (int round = 0; round < 20; ++round)
      for (int peer = 0; peer < comm.size(); ++peer) {
        const auto question = static_cast<float>(comm.rank() * 10 + peer);
        float reply = 0;
        service->call(peer, {.method = 1, .body = std::as_bytes(std::span(&question, 1))},
                      std::as_writable_bytes(std::span(&reply, 1)));
        ASSERT_EQ(reply, 2 * question);
      }
    pending->wait();
    EXPECT_EQ(behind.back(), 3.0F);
    comm.barrier();
    service->stop();
  });
}

// Ranks are in the middle of exchanges with each other when one of them fails: whatever is under way then must end.
TEST(MpiCollectives, ALossInTheMiddleOfALargeExchangeReachesAll) {
  for (const AllReduce algorithm :
       {AllReduce::kDirect, AllReduce::kRing, AllReduce::kHalvingDoubling, AllReduce::kRecursiveDoubling})
    for (int rounds = 0; rounds < 5; ++rounds)
      run_processes(kRanks, test_limits(), [&](TestRank& me) {
        ThreadTasks tasks;
        const auto comm = make_endpoint_comm(me.endpoint, tasks, Tag::Lane::kTrain, algorithm);
        std::vector<float> x(200'000);
        if (me.endpoint.rank() == 3) {
          for (int round = 0; round < rounds; ++round) comm->sum(x);
          return me.leave(true, "its disk burned");
        }
        try {
          for (;;) comm->sum(x);
        } catch (const PeerLost& lost) {
          me.leave(true, lost.what());
        }
      });
}

TEST(NativeCollectives, AreNearTheSumsOfThreads) {
  for (const std::size_t count : kLengths) {
    const auto sum = in_threads(count, [](Comm& comm, FloatView x) { comm.sum(x); });
    with_native([&](Comm& comm) {
      ASSERT_EQ(comm.size(), kRanks);
      auto x = random_vector(count, comm.rank());
      comm.sum(x);
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(x[i], sum[i], 1e-5) << i << " of " << count;
      auto mean = random_vector(count, comm.rank());
      comm.mean(mean);
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(mean[i], x[i] / kRanks, 1e-6);
      EXPECT_EQ(comm.ledger().sent(Tag::Lane::kTrain).messages, 0U);
    });
  }
}

TEST(NativeCollectives, ScatterGatherAndBroadcastAsTheOthersDo) {
  for (const std::size_t count : kLengths)
    with_native([&](Comm& comm) {
      std::vector<float> x(count, static_cast<float>(comm.rank() + 1));
      comm.reduce_scatter(x);
      const Slice own = comm.own_slice(count, comm.rank());
      for (const float v : part(FloatView(x), own).host()) ASSERT_EQ(v, 10.0F);
      std::vector<float> y(count, -1);
      std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(own.offset), own.count,
                  static_cast<float>(comm.rank()));
      comm.all_gather(y);
      for (int r = 0; r < comm.size(); ++r)
        for (const float v : part(FloatView(y), comm.own_slice(count, r)).host())
          ASSERT_EQ(v, static_cast<float>(r));
      std::vector<float> z(count, static_cast<float>(comm.rank()));
      comm.broadcast(bytes_of(FloatView(z)), 2);
      for (const float v : z) ASSERT_EQ(v, 2.0F);
      comm.barrier();
    });
}

TEST(NativeCollectives, RunInTheBackgroundAndBesideMessages) {
  with_native([](Comm& comm) {
    std::vector<float> behind(100'000, 1.0F);
    const auto pending = comm.start([&](Collectives& c) { c.sum(behind); });
    std::vector<float> front(3000, 1.0F);
    comm.sum(front);
    const int out = comm.rank();
    int in = -1;
    comm.exchange(comm.rank() ^ 1, std::as_bytes(std::span(&out, 1)),
                  std::as_writable_bytes(std::span(&in, 1)));
    EXPECT_EQ(in, comm.rank() ^ 1);
    pending->wait();
    EXPECT_EQ(front.back(), 4.0F);
    EXPECT_EQ(behind.back(), 4.0F);
  });
}

// Last of all: the ranks that gave the collective up make no MPI call on their fabrics any more.
TEST(NativeCollectivesLost, EndWhenARankFails) {
  run_processes(kRanks, test_limits(), [](TestRank& me) {
    ThreadTasks tasks;
    const auto comm =
        make_native_comm(make_native_lanes(), me.endpoint, tasks, Tag::Lane::kTrain, test_limits());
    static std::vector<float> x(100'000);  // outlives the collective that never ends
    if (me.endpoint.rank() == 1) return me.leave(true, "its disk burned");
    try {
      comm->sum(x);
      ADD_FAILURE() << "rank 1 never came";
    } catch (const PeerLost& lost) {
      EXPECT_NE(std::string(lost.what()).find("its disk burned"), std::string::npos) << lost.what();
    }
  });
}

}  // namespace
}  // namespace tacit::test
