// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>

#include "support/on_every_rank.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"
#include "topology/butterfly.h"
#include "topology/chunks.h"

namespace tacit::test {
namespace {

const std::vector<int> kRanks{1, 2, 3, 4, 5, 8, 17};
const std::vector<std::size_t> kLengths{0, 1, 3, 15, 16, 17, 100, 5000, 70'000};

std::vector<float> random_vector(std::size_t count, int rank) {
  Rng rng(7, rank, 0, Rng::Use::kData);
  std::vector<float> x(count);
  for (float& v : x) v = rng.normal();
  return x;
}

class EveryAllReduce : public ::testing::TestWithParam<AllReduceName> {};

TEST_P(EveryAllReduce, SumsExactlyForEveryNumberOfRanksAndLength) {
  for (const int ranks : kRanks)
    for (const std::size_t count : kLengths)
      on_every_comm(
          ranks,
          [&](Comm& comm) {
            std::vector<float> x(count);
            for (std::size_t i = 0; i < count; ++i)
              x[i] = static_cast<float>((i % 100) * (comm.rank() + 1UL));
            comm.sum(x);
            const auto total = static_cast<std::size_t>(ranks * (ranks + 1) / 2);
            for (std::size_t i = 0; i < count; ++i)
              ASSERT_EQ(x[i], static_cast<float>((i % 100) * total)) << ranks << " ranks, element " << i;
          },
          GetParam().which);
}

TEST_P(EveryAllReduce, GivesTheSameBitsOnEveryRank) {
  for (const int ranks : kRanks) {
    std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
    on_every_comm(
        ranks,
        [&](Comm& comm) {
          auto x = random_vector(10'007, comm.rank());
          comm.mean(x);
          results[static_cast<std::size_t>(comm.rank())] = x;
        },
        GetParam().which);
    for (const auto& r : results) ASSERT_EQ(r, results[0]) << ranks << " ranks";
  }
}

TEST_P(EveryAllReduce, MeanIsTheSumDividedByTheRanks) {
  on_every_comm(
      4,
      [](Comm& comm) {
        std::vector<float> x(333, static_cast<float>(comm.rank()));
        comm.mean(x);
        for (const float v : x) ASSERT_EQ(v, 1.5F);
      },
      GetParam().which);
}

TEST_P(EveryAllReduce, OfPartsIsTheMeanOfEachHoweverTheyBecomeReady) {
  for (const int ranks : kRanks)
    on_every_comm(
        ranks,
        [&](Comm& comm) {
          for (const std::size_t length :
               {std::size_t{1000}, std::size_t{300'000}}) {  // 300,000: two segments
            auto whole = random_vector(2 * length + 7, comm.rank());
            auto parts = whole;
            const FloatView of(parts);
            const std::vector<Slice> order{{length + 7, length}, {7, length}, {7, 0}, {0, 7}};
            std::size_t next = 0;
            int asked = comm.rank();  // ranks find different parts ready
            comm.mean_each([&](bool wait) -> std::optional<FloatView> {
              if (next == order.size() || (!wait && asked++ % 3 == 0)) return std::nullopt;
              return part(of, order[next++]);
            });
            EXPECT_EQ(next, order.size());
            for (const Slice& each : order) comm.mean(part(FloatView(whole), each));
            ASSERT_EQ(parts, whole) << ranks << " ranks";
          }
        },
        GetParam().which);
}

TEST(AllReduce, OfLargePartsHasTheBitsOfTheWhole) {
  for (const int ranks : {2, 3, 8})
    on_every_comm(ranks, [&](Comm& comm) {
      auto whole = random_vector(300'000, comm.rank());
      auto parts = whole;
      std::vector<Slice> left{{0, 60'000}, {60'000, 70'007}, {130'007, 169'993}};
      comm.mean_each([&](bool) -> std::optional<FloatView> {
        if (left.empty()) return std::nullopt;
        const Slice last = left.back();
        left.pop_back();
        return part(FloatView(parts), last);
      });
      comm.mean(whole);
      EXPECT_EQ(parts, whole);
    });
}

// One part alone is under way at first, and whoever waits for it must not wait for the next.
TEST(AllReduce, APartThatIsReadyDoesNotWaitForTheNext) {
  on_every_comm(3, [&](Comm& comm) {
    std::vector<float> x(200'000, static_cast<float>(comm.rank()));
    int given = 0;
    comm.mean_each([&](bool wait) -> std::optional<FloatView> {
      if (given == 2 || (!wait && given == 1)) return std::nullopt;
      for (std::size_t i = 0; i < 100'000 * static_cast<std::size_t>(given); ++i)
        EXPECT_EQ(x[i], 1.0F);  // the first is done
      return part(FloatView(x), {100'000UL * static_cast<unsigned>(given++), 100'000});
    });
    for (const float v : x) EXPECT_EQ(v, 1.0F);
  });
}

INSTANTIATE_TEST_SUITE_P(All, EveryAllReduce, ::testing::ValuesIn(kAllReduceNames), [](const auto& each) {
  std::string name(each.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Payload bytes and messages that a rank sends for one sum of `count` floats.
Traffic sent_by(int rank, int ranks, std::size_t count, AllReduce algorithm) {
  Traffic traffic;
  on_every_comm(
      ranks,
      [&](Comm& comm) {
        std::vector<float> x(count);
        comm.sum(x);
        if (comm.rank() == rank) traffic = comm.ledger().sent(Tag::Lane::kTrain);
      },
      algorithm);
  return traffic;
}

constexpr std::size_t kFloat = sizeof(float);

TEST(AllReduceCost, RingAndDirectSendEveryChunkTwice) {
  for (const AllReduce which : {AllReduce::kRing, AllReduce::kDirect})
    for (const int n : {1, 2, 3, 4, 5, 8}) {
      const std::size_t count = 16 * 840;  // every n divides it on a cache line
      const auto others = static_cast<std::size_t>(n - 1);
      const Traffic t = sent_by(0, n, count, which);
      EXPECT_EQ(t.payload, 2 * others * (count / static_cast<std::size_t>(n)) * kFloat);
      EXPECT_EQ(t.messages, 2 * others);
    }
}

TEST(AllReduceCost, HalvingDoublingSendsAsLittleInLogarithmicRounds) {
  for (const int n : {2, 4, 8}) {
    const std::size_t count = 16 * 840;
    const Traffic t = sent_by(0, n, count, AllReduce::kHalvingDoubling);
    EXPECT_EQ(t.payload,
              2 * static_cast<std::size_t>(n - 1) * (count / static_cast<std::size_t>(n)) * kFloat);
    EXPECT_EQ(t.messages, 2U * static_cast<unsigned>(butterfly::rounds(n)));
  }
  EXPECT_EQ(sent_by(4, 5, 1000, AllReduce::kHalvingDoubling).payload,
            1000 * kFloat);  // an extra hands its vector in
}

TEST(AllReduceCost, RecursiveDoublingSendsTheWholeVectorOncePerRound) {
  for (const int n : {1, 2, 4, 8}) {
    const Traffic t = sent_by(0, n, 1000, AllReduce::kRecursiveDoubling);
    EXPECT_EQ(t.messages, static_cast<unsigned>(butterfly::rounds(n)));
    EXPECT_EQ(t.payload, t.messages * 1000 * kFloat);
  }
  EXPECT_EQ(sent_by(0, 3, 1000, AllReduce::kRecursiveDoubling).messages,
            2U);  // one round, one result to the extra
  EXPECT_EQ(sent_by(2, 3, 1000, AllReduce::kRecursiveDoubling).messages, 1U);
}

TEST(AllReduceCost, LargeVectorsGoInSegmentsWithoutMoreBytes) {
  const std::size_t count = 3 << 20U;  // 12 MiB: six segments
  const Traffic t = sent_by(1, 4, count, AllReduce::kDirect);
  EXPECT_EQ(t.payload, 2 * 3 * (count / 4) * kFloat);
  EXPECT_EQ(t.messages, 6U * 6U);
}

TEST(AllReduceChoice, DependsOnSizeAloneAndCoversTheExtremes) {
  EXPECT_EQ(choose_all_reduce(4, 4096), AllReduce::kRecursiveDoubling);
  EXPECT_EQ(choose_all_reduce(4, 64 << 20U), AllReduce::kDirect);
  EXPECT_EQ(choose_all_reduce(2, 64 << 10U), AllReduce::kDirect);
  EXPECT_EQ(choose_all_reduce(8, 64 << 10U), AllReduce::kHalvingDoubling);
  EXPECT_EQ(choose_all_reduce(64, 1 << 20U), AllReduce::kHalvingDoubling);
  EXPECT_EQ(choose_all_reduce(64, 1 << 30U), AllReduce::kRing);
}

TEST(Collectives, ReduceScatterFinishesTheOwnSliceAndAllGatherSpreadsIt) {
  for (const int ranks : kRanks)
    for (const std::size_t count : kLengths)
      on_every_comm(ranks, [&](Comm& comm) {
        std::vector<float> x(count, static_cast<float>(comm.rank() + 1));
        comm.reduce_scatter(x);
        const auto total = static_cast<float>(ranks * (ranks + 1) / 2);
        const Slice own = comm.own_slice(count, comm.rank());
        for (const float v : part(FloatView(x), own).host()) ASSERT_EQ(v, total);
        std::vector<float> y(count, -1);
        std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(own.offset), own.count,
                    static_cast<float>(comm.rank()));
        comm.all_gather(y);
        for (int r = 0; r < ranks; ++r)
          for (const float v : part(FloatView(y), comm.own_slice(count, r)).host())
            ASSERT_EQ(v, static_cast<float>(r));
      });
}

// Ranks of one colour add theirs; groups of several sizes side by side, one after the other.
TEST(Collectives, ASumAmongSomeRanksLeavesTheOthersAlone) {
  for (const int ranks : {1, 2, 5, 8, 18})
    for (const std::size_t count : {std::size_t{0}, std::size_t{7}, std::size_t{9000}})
      on_every_comm(ranks, [&](Comm& comm) {
        for (const int colours : {1, 2, 3}) {
          std::vector<int> group;
          for (int rank = comm.rank() % colours; rank < ranks; rank += colours) group.push_back(rank);
          const auto sum = static_cast<float>(std::accumulate(group.begin(), group.end(), 0));
          std::vector<float> x(count, static_cast<float>(comm.rank()));
          comm.sum_among(group, static_cast<std::uint32_t>(colours), x);
          for (const float v : x) ASSERT_EQ(v, sum) << ranks << " ranks, " << colours << " groups";
        }
      });
}

TEST(Collectives, BroadcastReachesAllFromEveryRoot) {
  for (const int ranks : kRanks)
    on_every_comm(ranks, [&](Comm& comm) {
      for (int root = 0; root < ranks; ++root) {
        std::vector<float> x(1000, static_cast<float>(comm.rank() == root ? root + 10 : -1));
        comm.broadcast(bytes_of(FloatView(x)), root);
        for (const float v : x) ASSERT_EQ(v, static_cast<float>(root + 10));
      }
    });
}

TEST(Collectives, NobodyLeavesABarrierBeforeAllHaveEntered) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::atomic<int> entered{0};
    on_every_comm(ranks, [&](Comm& comm) {
      for (int round = 1; round <= 20; ++round) {
        entered.fetch_add(1);
        comm.barrier();
        EXPECT_GE(entered.load(), ranks * round);
        comm.barrier();
      }
    });
  }
}

TEST(Collectives, ExchangeSwapsWithAPeerInOrder) {
  on_every_comm(4, [](Comm& comm) {
    const int peer = comm.rank() ^ 1;
    for (int i = 0; i < 50; ++i) {
      const int out = comm.rank() * 1000 + i;
      int in = -1;
      comm.exchange(peer, std::as_bytes(std::span(&out, 1)), std::as_writable_bytes(std::span(&in, 1)));
      ASSERT_EQ(in, peer * 1000 + i);
    }
  });
}

TEST(Collectives, BackgroundExchangesRunInOrderBesideTheTrainers) {
  on_every_comm(4, [](Comm& comm) {
    std::vector<std::vector<float>> behind(10, std::vector<float>(5000));
    std::vector<std::unique_ptr<Pending>> pending;
    for (std::size_t i = 0; i < behind.size(); ++i) {
      std::fill(behind[i].begin(), behind[i].end(), static_cast<float>(i));
      pending.push_back(comm.start([&x = behind[i]](Collectives& c) { c.sum(x); }));
      std::vector<float> front(3000, 1.0F);
      comm.sum(front);
      ASSERT_EQ(front.back(), 4.0F);
    }
    for (std::size_t i = 0; i < behind.size(); ++i) {
      pending[i]->wait();
      EXPECT_TRUE(pending[i]->done());
      ASSERT_EQ(behind[i].back(), 4.0F * static_cast<float>(i));
    }
    EXPECT_GT(comm.ledger().sent(Tag::Lane::kBackground).messages, 0U);
  });
}

TEST(Collectives, ABackgroundErrorComesOutOfItsWait) {
  on_every_comm(1, [](Comm& comm) {
    const auto pending = comm.start([](Collectives&) { throw Mismatch("on purpose"); });
    EXPECT_THROW(pending->wait(), Mismatch);
  });
}

TEST(Collectives, RanksThatDisagreeOnTheLengthAreTold) {
  for (const auto& [which, name] : kAllReduceNames)
    EXPECT_THROW(on_every_comm(
                     2,
                     [](Comm& comm) {
                       std::vector<float> x(comm.rank() == 0 ? 6400 : 8000);
                       comm.sum(x);
                     },
                     which),
                 Error)
        << name;
}

TEST(Agents, AnswerCallsOfAllRanksWhileTheTrainerDoesNothing) {
  on_every_comm(3, [](Comm& comm) {
    std::atomic<int> posts{0};
    const auto service = comm.serve([&](const Call& call, std::unique_ptr<Answer> answer) {
      if (!answer) return (void)posts.fetch_add(static_cast<int>(call.method));
      float doubled = 2 * floats_in(call.body).host()[0];
      answer->send(std::as_bytes(std::span(&doubled, 1)));
    });
    for (int peer = 0; peer < 3; ++peer) {
      const auto question = static_cast<float>(comm.rank() * 10 + peer);
      float reply = 0;
      service->call(peer, {.method = 1, .body = std::as_bytes(std::span(&question, 1))},
                    std::as_writable_bytes(std::span(&reply, 1)));
      EXPECT_EQ(reply, 2 * question);
      service->post(peer, {.method = 3});
    }
    comm.barrier();
    float last = 0;  // a call after the posts of this rank: the agent has seen them all
    const float zero = 0;
    service->call(comm.rank(), {.method = 1, .body = std::as_bytes(std::span(&zero, 1))},
                  std::as_writable_bytes(std::span(&last, 1)));
    EXPECT_EQ(posts.load(), 9);
    comm.barrier();
    service->stop();
  });
}

TEST(Agents, AHandlersErrorReachesWhoWaitsForAnAnswer) {
  on_every_comm(2, [](Comm& comm) {
    const auto service =
        comm.serve([](const Call&, const std::unique_ptr<Answer>&) { throw Mismatch("on purpose"); });
    if (comm.rank() == 1) {
      EXPECT_THROW(comm.barrier(), PeerLost);  // rank 0 gives up
    } else {
      float reply = 0;
      try {
        service->call(1, {.method = 1}, std::as_writable_bytes(std::span(&reply, 1)));
        ADD_FAILURE() << "answered";
      } catch (const PeerLost& lost) {
        EXPECT_NE(std::string(lost.what()).find("its agent failed: on purpose"), std::string::npos)
            << lost.what();
      }
    }
  });
}

TEST(Agents, AHandlersErrorComesOutOfStop) {
  on_every_comm(1, [](Comm& comm) {
    const auto service =
        comm.serve([](const Call&, const std::unique_ptr<Answer>&) { throw Mismatch("on purpose"); });
    service->post(0, {.method = 1});
    EXPECT_THROW(service->stop(), Mismatch);
  });
}

TEST(SomeToAll, BringsTheSpeakersMessagesInRankOrderAndNothingElse) {
  for (const int ranks : {1, 2, 3, 5})
    on_every_comm(ranks, [&](Comm& comm) {
      std::vector<bool> speakers;
      for (int r = 0; r < ranks; ++r) speakers.push_back(r % 2 == 0);
      std::vector<std::vector<std::byte>> messages;  // of another length for each
      for (int r = 0; r < ranks; ++r) messages.emplace_back(static_cast<std::size_t>(10 * comm.rank() + r));
      const std::vector<ConstBytes> out(messages.begin(), messages.end());
      const std::uint64_t before = comm.ledger().sent(Tag::Lane::kTrain).messages;
      std::vector<int> heard;
      comm.some_to_all(speakers, out, [&](int from, ConstBytes message) {
        EXPECT_EQ(message.size(), static_cast<std::size_t>(10 * from + comm.rank()));
        heard.push_back(from);
      });
      std::vector<int> expected;
      for (int r = 0; r < ranks; r += 2) expected.push_back(r);
      EXPECT_EQ(heard, expected);
      EXPECT_EQ(comm.ledger().sent(Tag::Lane::kTrain).messages - before,
                comm.rank() % 2 == 0 ? static_cast<std::uint64_t>(ranks - 1) : 0U);
    });
}

}  // namespace
}  // namespace tacit::test
