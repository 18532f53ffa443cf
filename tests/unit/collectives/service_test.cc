// SPDX-License-Identifier: MIT
// Services, forks, and agents that do not stop for one peer.
#include <gtest/gtest.h>

#include <atomic>

#include "protocols/board.h"
#include "protocols/errand.h"
#include "protocols/group_sums.h"
#include "support/on_every_rank.h"
#include "support/simulate.h"
#include "tacit/core/channel.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

template <class T>
ConstBytes bytes_in(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
Bytes place_for(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// Answers with this number.
std::unique_ptr<Service> numbered(Comm& comm, int number) {
  return comm.serve([number](const Call&, const std::unique_ptr<Answer>& answer) {
    if (answer) answer->send(bytes_in(number));
  });
}

int ask(Service& service, int peer) {
  int reply = -1;
  service.call(peer, {}, place_for(reply));
  return reply;
}

TEST(Services, AreTheSameOnEveryRankByTheOrderInWhichTheyAreMade) {
  on_every_comm(3, [](Comm& comm) {
    const int peer = (comm.rank() + 1) % 3;
    auto first = numbered(comm, 1);
    const auto second = numbered(comm, 2);
    EXPECT_EQ(ask(*second, peer), 2);
    EXPECT_EQ(ask(*first, peer), 1);
    comm.barrier();
    first.reset();
    const auto third = numbered(comm, 3);
    EXPECT_EQ(ask(*second, peer), 2);
    EXPECT_EQ(ask(*third, peer), 3);
    comm.barrier();
  });
}

// A handler that uses its own service can only begin once that is there.
TEST(Services, WhatComesBeforeARankAnswersWaitsForIt) {
  on_every_comm(3, [](Comm& comm) {
    const auto service = comm.serve(nullptr);
    const int next = (comm.rank() + 1) % 3;
    service->post(next, {.step = 7});
    comm.barrier();  // it has come, and nobody answers yet
    std::atomic<int> heard{0};
    service->answer([&](const Call& call, const std::unique_ptr<Answer>& answer) {
      if (answer) return answer->send(bytes_in(heard.load()));
      if (call.step == 7) service->post(call.from, {.step = 8});
      ++heard;
    });
    while (ask(*service, comm.rank()) < 2) comm.clock().sleep(Seconds(0.001));
    comm.barrier();
  });
}

TEST(Services, ARankThatAnswersNobodyStillAsks) {
  on_every_comm(3, [](Comm& comm) {
    const auto before = numbered(comm, 1);
    const auto service = comm.rank() == 2 ? numbered(comm, 7) : comm.serve(nullptr);
    const auto after = numbered(comm, 3);
    EXPECT_EQ(ask(*service, 2), 7);
    EXPECT_EQ(ask(*after, 0), 3);
    comm.barrier();
  });
}

TEST(Services, ALateRequestReachesNoOther) {
  on_every_comm(2, [](Comm& comm) {
    const auto ignore = [](const Call&, const std::unique_ptr<Answer>&) {};
    const auto old = comm.serve(ignore);
    if (comm.rank() == 1) old->stop();
    std::atomic<int> heard{0};
    const auto fresh = comm.serve([&](const Call&, const std::unique_ptr<Answer>& answer) {
      ++heard;
      if (answer) answer->send({});
    });
    comm.barrier();  // rank 1 has stopped the old one and serves the new one
    if (comm.rank() == 0) {
      old->post(1, {});
      fresh->call(1, {}, {});
    }
    comm.barrier();
    EXPECT_EQ(heard.load(), comm.rank());
  });
}

TEST(Services, ACallBringsAllThatItsHeaderHas) {
  on_every_comm(2, [](Comm& comm) {
    const auto service = comm.serve([](const Call& call, const std::unique_ptr<Answer>& answer) {
      EXPECT_EQ(call.method, Call::kMethods - 1);
      EXPECT_EQ(call.step, -5);
      EXPECT_EQ(call.weight, 0.1);
      answer->send(bytes_in(call.from));
    });
    int from = -1;
    service->call(1 - comm.rank(), {.method = Call::kMethods - 1, .step = -5, .weight = 0.1},
                  place_for(from));
    EXPECT_EQ(from, comm.rank());
    EXPECT_THROW(service->post(0, {.method = Call::kMethods}), Bug);
    comm.barrier();
  });
}

// Longer than what transports copy at once.
constexpr std::size_t kLong = 100'000;

TEST(Services, AnswerFromMemoryThatTheHandlerNeedsNoMore) {
  on_every_comm(4, [](Comm& comm) {
    const auto service = comm.serve([](const Call& call, const std::unique_ptr<Answer>& answer) {
      std::vector<float> reply(kLong, static_cast<float>(call.step));
      answer->send(bytes_of(ConstFloatView(reply)));
      std::fill(reply.begin(), reply.end(), -1.0F);
    });
    for (int round = 0; round < 20; ++round) {
      std::vector<float> got(kLong);
      service->call(round % 4, {.step = round}, bytes_of(FloatView(got)));
      EXPECT_EQ(got, std::vector<float>(kLong, static_cast<float>(round)));
    }
    comm.barrier();
  });
}

// A long body is behind a header alone, and a short one behind both.
TEST(Services, HandleWhatOneCallerSendsInItsOrder) {
  on_every_comm(3, [](Comm& comm) {
    std::vector<std::vector<std::int64_t>> heard(3);
    const auto service = comm.serve([&](const Call& call, const std::unique_ptr<Answer>& answer) {
      heard[static_cast<std::size_t>(call.from)].push_back(call.step);
      if (answer) answer->send({});
    });
    const std::vector<float> body(kLong);
    std::vector<std::int64_t> expected;
    for (std::int64_t step = 0; step < 60; ++step) {
      const std::size_t length = step % 3 == 0 ? kLong : step % 3 == 1 ? 1 : 0;
      service->post(0, {.step = step, .body = bytes_of(ConstFloatView(body).first(length))});
      expected.push_back(step);
    }
    service->call(0, {.step = 60}, {});
    expected.push_back(60);
    comm.barrier();
    if (comm.rank() == 0) {
      EXPECT_EQ(heard, std::vector(3, expected));
    }
  });
}

// Rank 0 serves; rank 3 is behind a line with a tenth of the others' bandwidth. How long 10 calls of each of ranks 1 and
// 2 take in virtual time, without it and beside its.
void expect_not_slowed(std::size_t there, std::size_t back) {
  Cluster cluster = flat(4);
  cluster.groups = {{"near", 3, LinkSpeed{125e6, Seconds(0)}}, {"far", 1, LinkSpeed{12.5e6, Seconds(0)}}};
  simulate(cluster, [=](Process& me) {
    Comm& comm = me.comm();
    const std::vector<std::byte> reply(back);
    const auto service = comm.serve([&](const Call&, const std::unique_ptr<Answer>& answer) {
      answer->send(reply, std::shared_ptr<const void>(&reply, [](const void*) {}));
    });
    const std::vector<std::byte> body(there);
    std::vector<std::byte> got(back);
    const auto time_of = [&](int calls) {
      me.control().barrier();
      const Seconds start = comm.clock().now();
      for (int i = 0; i < calls; ++i) service->call(0, {.body = body}, got);
      return comm.clock().now() - start;
    };
    const bool near = me.rank() == 1 || me.rank() == 2;
    const Seconds alone = time_of(near ? 10 : 0);
    const Seconds beside = time_of(near ? 10 : me.rank() == 3 ? 2 : 0);
    // Two near ones share the line of rank 0, of which the far one's own line leaves nine tenths.
    if (near) {
      EXPECT_GT(alone, Seconds(0.1));
      EXPECT_LT(beside / alone, 1.15);
    }
    if (me.rank() == 3) {
      EXPECT_GT(beside, Seconds(0.3));
    }
    me.control().barrier();
    service->stop();
  });
}

TEST(Agents, ASlowReaderDoesNotSlowTheOthersCalls) {
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator";
  expect_not_slowed(0, 2'000'000);
}

TEST(Agents, ASlowSenderDoesNotSlowTheOthersCalls) {
  if (!has_simulator()) GTEST_SKIP() << "built without the simulator";
  expect_not_slowed(2'000'000, 0);
}

TEST(Fork, ALongTaskKeepsNobodysExchangesWaiting) {
  on_every_comm(3, [](Comm& comm) {
    ThreadTasks tasks;
    Channel<int> orders(tasks);
    const auto beside = comm.fork("long");
    std::vector<float> theirs(5000, 1);
    const auto running = beside->start([&](Collectives& all) {
      while (orders.get() != 0) all.sum(theirs);
    });
    std::vector<float> x(5000, 1);
    std::vector<float> y(5000, 1);
    comm.start([&](Collectives& all) { all.sum(x); })->wait();
    beside->sum(y);
    orders.put(1);
    comm.sum(x);
    orders.put(0);
    running->wait();
    EXPECT_EQ(x.back(), 9);
    EXPECT_EQ(y.back(), 3);
    EXPECT_EQ(theirs.back(), 3);
    // Forks are training, and what they send is not the trainer's own.
    const Ledger& ledger = comm.ledger();
    EXPECT_EQ(ledger.training().messages,
              ledger.sent(Tag::Lane::kTrain).messages + ledger.sent(Tag::Lane::kBackground).messages);
    EXPECT_EQ(ledger.sent(Tag::Lane::kBackground).messages, 3 * ledger.sent(Tag::Lane::kTrain).messages);
  });
}

TEST(Fork, HasServicesOfItsOwn) {
  on_every_comm(2, [](Comm& comm) {
    const auto beside = comm.fork("second");
    const auto ours = numbered(comm, 1);
    const auto theirs = numbered(*beside, 2);
    EXPECT_EQ(ask(*ours, 1 - comm.rank()), 1);
    EXPECT_EQ(ask(*theirs, 1 - comm.rank()), 2);
    comm.barrier();
  });
}

TEST(Fork, IsMadeOfTheTrainersCommAndSoManyTimes) {
  on_every_comm(1, [](Comm& comm) {
    EXPECT_THROW(comm.fork("a")->fork("b"), Bug);
    for (int i = 1; i < Tag::kForks; ++i) comm.fork("next");
    EXPECT_THROW(comm.fork("one too many"), InvalidConfig);
  });
}

TEST(Fork, GroupSumsLeaveTheBackgroundToOthers) {
  on_every_comm(4, [](Comm& comm) {
    ThreadTasks tasks;
    std::vector<float> x(100, static_cast<float>(comm.rank()));
    const auto pairs = [](int place, int, std::int64_t) { return std::vector<int>{place & ~1, place | 1}; };
    GroupSums first(comm, tasks, x, pairs, {});
    std::vector<float> y(100, 10 * static_cast<float>(comm.rank()));
    GroupSums second(comm, tasks, y, pairs, {});
    std::vector<float> z(100, 1);
    comm.start([&](Collectives& all) { all.sum(z); })->wait();
    EXPECT_EQ(z[0], 4);
    first.next(x);
    second.next(y);
    EXPECT_EQ(x[0], 0.5F + static_cast<float>(comm.rank() & ~1));
    EXPECT_EQ(y[0], 10 * x[0]);
    first.close();
    second.close();
  });
}

// Ranks run theirs at different times and in different numbers, beside exchanges that all of them start.
TEST(Errand, IsEachRanksOwnAffair) {
  on_every_comm(3, [](Comm& comm) {
    ThreadTasks tasks;
    std::vector<float> x(5000, static_cast<float>(comm.rank()));
    Board board(comm, tasks, x);
    std::vector<float> read(5000, -1);
    Errand errand(comm);
    for (int round = 0; round < 6; ++round) {
      const int peer = (comm.rank() + 1) % 3;
      if (round % (comm.rank() + 1) == 0) errand.begin([&] { board.read(peer, read); });
      std::vector<float> y(5000, 1);
      comm.start([&](Collectives& all) { all.sum(y); })->wait();
      EXPECT_EQ(y.back(), 3);
      if (errand.end()) {
        EXPECT_EQ(read.back(), static_cast<float>(peer));
      }
    }
    comm.barrier();
    board.close();
  });
}

}  // namespace
}  // namespace tacit::test
