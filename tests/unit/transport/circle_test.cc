// SPDX-License-Identifier: MIT
// Circles of waits: that each is found, and that nothing else is taken for one.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "support/on_every_rank.h"
#include "support/refusal.h"
#include "support/tcp_fabric.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"
#include "transport/tcp/circle_watch.h"

namespace tacit::test {
namespace {

using Lane = Tag::Lane;
constexpr std::array<Lane, 2> kTwoLanes{Lane::kTrain, Lane::kBackground};

// --- all of it in one thread, in the order that a seed gives

// One message of a program.
struct Letter {
  int from;
  int to;
  Tag tag;
};

// Ranks that send and receive letters, each lane of a rank by a task of its own, over connections that keep their order.
// A seed says which task goes on, which connection delivers and which rank asks. What a task waits for may have come long
// before it goes on, and is counted later still, as with real threads.
class CircleModel {
 public:
  struct Step {
    bool send;
    Letter letter;
  };
  using Programs = std::map<std::pair<int, Lane>, std::vector<Step>>;

  CircleModel(int ranks, Programs programs, std::uint64_t seed)
      : rng_(seed, Rng::kEveryRank, 0, Rng::Use::kData), lines_(static_cast<std::size_t>(ranks * ranks)) {
    // Tasks are told apart by their lanes: here they share a thread.
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.emplace_back(std::make_unique<CircleWatch>(rank, ranks, kNever));
    for (auto& watch : ranks_)
      for (const Lane lane : kTwoLanes) watch->book().declare(lane);
    for (auto& [where, steps] : programs) tasks_.push_back({where.first, std::move(steps)});
  }

  void run(int moves) {
    for (int i = 0; i < moves; ++i) move();
  }
  bool ended() const {
    return std::all_of(tasks_.begin(), tasks_.end(),
                       [](const ModelTask& t) { return t.at == t.steps.size(); });
  }
  const std::set<std::string>& circles() const { return circles_; }

 private:
  struct ModelTask {
    int rank;
    std::vector<Step> steps;
    std::size_t at = 0;
    std::unique_ptr<std::atomic<bool>> done = std::make_unique<std::atomic<bool>>(false);
    std::unique_ptr<StuckBook::Entry> waits{};
  };
  using Item = std::variant<Letter, CircleQuestion>;

  CircleWatch& watch(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(ranks_.size()); }
  std::deque<Item>& line(int from, int to) { return lines_[static_cast<std::size_t>(from * size() + to)]; }

  void move() {
    now_ += Seconds(0.3 * rng_.uniform());
    switch (rng_.below(4)) {
      case 0:
        return go_on(tasks_[rng_.below(tasks_.size())]);
      case 1:
        return deliver(lines_[rng_.below(lines_.size())]);
      case 2:
        return carry(watch(static_cast<int>(rng_.below(ranks_.size()))).ask(now_));
      default:
        if (uncounted_.empty()) return;
        watch(uncounted_.front().to).count_received(uncounted_.front().from, uncounted_.front().tag);
        uncounted_.pop_front();
    }
  }

  void go_on(ModelTask& task) {
    if (task.at == task.steps.size()) return;
    const auto& [send, letter] = task.steps[task.at];
    if (send) {
      watch(letter.from).count_sent(letter.to, letter.tag);
      line(letter.from, letter.to).push_back(letter);
    } else if (came_.erase(letter.tag) == 0 && !task.done->load()) {
      if (!task.waits)
        task.waits = std::make_unique<StuckBook::Entry>(watch(task.rank).book(), letter.from, letter.tag,
                                                        *task.done, now_);
      return;
    }
    task.waits.reset();
    task.done->store(false);
    ++task.at;
  }

  void deliver(std::deque<Item>& from) {
    if (from.empty()) return;
    const Item item = from.front();
    from.pop_front();
    if (const auto* question = std::get_if<CircleQuestion>(&item)) return hear(*question, from);
    const Letter letter = std::get<Letter>(item);
    const auto waiting = std::find_if(tasks_.begin(), tasks_.end(), [&](const ModelTask& t) {
      return t.waits && t.steps[t.at].letter.tag == letter.tag;
    });
    waiting == tasks_.end() ? (void)came_.insert(letter.tag) : waiting->done->store(true);
    uncounted_.push_back(letter);
  }

  void hear(const CircleQuestion& question, const std::deque<Item>& from) {
    const int to = static_cast<int>(&from - lines_.data()) % size();
    const CircleWatch::Answer answer = watch(to).hear(question, now_);
    if (!answer.circle.empty()) circles_.insert(answer.circle);
    if (answer.pass_on) carry({*answer.pass_on});
  }

  void carry(const std::vector<CircleWatch::Errand>& errands) {
    for (const auto& [peer, question] : errands) line(question.path.back().rank, peer).push_back(question);
  }

  Rng rng_;
  Seconds now_{0};
  std::vector<std::unique_ptr<CircleWatch>> ranks_;
  std::vector<ModelTask> tasks_;
  std::vector<std::deque<Item>> lines_;  // by sender and receiver
  std::set<Tag> came_;                   // and nobody waited
  std::deque<Letter> uncounted_;         // in the order in which they came
  std::set<std::string> circles_;
};

// Programs that end: there is an order of all letters in which each can be sent and received.
CircleModel::Programs legal(int ranks, std::uint32_t letters, Rng& rng) {
  CircleModel::Programs programs;
  for (std::uint32_t number = 0; number < letters; ++number) {
    const auto others = static_cast<std::uint64_t>(ranks - 1);
    const int from = static_cast<int>(rng.below(static_cast<std::uint64_t>(ranks)));
    const int to = (from + 1 + static_cast<int>(rng.below(others))) % ranks;
    const Lane lane = kTwoLanes[rng.below(2)];
    const Letter letter{from, to, Tag(Tag::Channel::kAllReduce, lane, number)};
    programs[{from, lane}].push_back({true, letter});
    programs[{to, lane}].push_back({false, letter});
  }
  return programs;
}

TEST(Circles, LegalTrafficIsNeverTakenForOne) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed, Rng::kEveryRank, 1, Rng::Use::kData);
    const int ranks = 2 + static_cast<int>(rng.below(4));
    CircleModel model(ranks, legal(ranks, 30, rng), seed);
    for (int i = 0; i < 1000 && !model.ended(); ++i) model.run(100);
    ASSERT_TRUE(model.ended()) << "seed " << seed;
    model.run(200);
    ASSERT_EQ(model.circles(), std::set<std::string>{}) << "seed " << seed;
  }
}

TEST(Circles, OfWhateverRanksAreFoundAfterWhateverTrafficByTheLowest) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed, Rng::kEveryRank, 2, Rng::Use::kData);
    const int ranks = 2 + static_cast<int>(rng.below(4));
    CircleModel::Programs programs = legal(ranks, 20, rng);
    // The last `length` ranks: each waits for the next before it sends what the one before it waits for. The others wait
    // for one of them.
    const int length = 2 + static_cast<int>(rng.below(static_cast<std::uint64_t>(ranks - 1)));
    const int lowest = ranks - length;
    const auto letter = [&](int from, int to) {
      return Letter{from, to,
                    Tag(Tag::Channel::kBarrier, Lane::kTrain, 1000U + static_cast<std::uint32_t>(to))};
    };
    std::string expected;
    for (int rank = lowest; rank < ranks; ++rank) {
      const int next = rank + 1 == ranks ? lowest : rank + 1;
      const int before = rank == lowest ? ranks - 1 : rank - 1;
      programs[{rank, Lane::kTrain}].push_back({false, letter(next, rank)});
      programs[{rank, Lane::kTrain}].push_back({true, letter(rank, before)});
      expected += (expected.empty() ? "rank " : ", rank ") + std::to_string(rank) + " waits for rank " +
                  std::to_string(next) + " (barrier " + std::to_string(1000 + rank) + ", part 0)";
    }
    for (int rank = 0; rank < lowest; ++rank)
      programs[{rank, Lane::kTrain}].push_back({false, letter(ranks - 1, rank)});
    CircleModel model(ranks, programs, seed);
    for (int i = 0; i < 1000 && model.circles().empty(); ++i) model.run(100);
    ASSERT_EQ(model.circles().size(), 1U) << "seed " << seed;
    EXPECT_EQ(model.circles().begin()->substr(0, expected.size() + 1), expected + ":") << "seed " << seed;
  }
}

TEST(Circles, AWaitInAnotherLaneCountsOnceItIsLongAndOnlyOfTheThreadThatUsesTheLane) {
  StuckBook book(0, Seconds(30));
  book.declare(Lane::kTrain);
  book.declare(Lane::kControl);
  const Tag train(Tag::Channel::kAllReduce, Lane::kTrain, 1);
  const Tag control(Tag::Channel::kBarrier, Lane::kControl, 1);
  book.note_use(train);
  book.note_use(control);
  std::atomic<bool> done{false};
  const StuckBook::Entry entry(book, 1, control, done, Seconds(100));
  EXPECT_TRUE(book.stuck(Lane::kControl, Seconds(100)));
  EXPECT_FALSE(book.stuck(Lane::kTrain, Seconds(129)));
  EXPECT_TRUE(book.stuck(Lane::kTrain, Seconds(131)));
  EXPECT_FALSE(book.stuck(Lane::kBackground, Seconds(131)));  // nobody has used that one yet
  ThreadTasks()
      .spawn("another", [&] { book.note_use(Tag(Tag::Channel::kRequest, Lane::kTrain, 1)); })
      ->join();
  EXPECT_TRUE(book.stuck(Lane::kTrain, Seconds(131)));  // an agent is nobody's exchange
  ThreadTasks().spawn("another", [&] { book.note_use(train); })->join();
  EXPECT_FALSE(book.stuck(Lane::kTrain, Seconds(131)));
  done.store(true);
  EXPECT_FALSE(book.stuck(Lane::kControl, Seconds(131)));
}

// --- real ranks

struct WorldKind {
  const char* name;
  MakeFabric make;
};

class CirclesOf : public ::testing::TestWithParam<WorldKind> {
 protected:
  using Body = std::function<void(Comm& train, Comm& control)>;
  // What each rank was ended with; empty: with nothing.
  std::vector<std::string> errors_of(int ranks, const WaitLimits& limits, const Body& body) {
    const auto fabric = GetParam().make(ranks, limits);
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    run_ranks(ranks, [&](int rank) {
      ThreadTasks tasks;
      try {
        const auto train = make_endpoint_comm(fabric->endpoint(rank), tasks, Lane::kTrain);
        const auto control = make_endpoint_comm(fabric->endpoint(rank), tasks, Lane::kControl);
        body(*train, *control);
        fabric->leave(rank, false, "its test ended");
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
        fabric->leave(rank, true, error.what());
      }
    });
    return errors;
  }
  // That all of them, or all that wait for those in it, say this.
  static void expect_said(const std::vector<std::string>& errors, const std::vector<std::string>& parts) {
    for (const std::string& error : errors) expect_parts(error, parts);
  }
  static constexpr const char* kNever = "they wait for each other and can never go on";
};

// The limit is so long that a circle which is not found fails the test by its own.
WaitLimits long_limits() {
  return {Seconds(600), Seconds(300), [](const std::string&) {}};
}

TEST_P(CirclesOf, TwoRanksInDifferentCollectivesEndAndNameThem) {
  const auto errors = errors_of(2, long_limits(), [](Comm& train, Comm&) {
    train.barrier();
    float x = 1;
    train.rank() == 0 ? train.sum(std::span(&x, 1)) : train.barrier();
  });
  expect_said(errors, {"rank 0 waits for rank 1 (all-reduce 1, part ",
                       "rank 1 waits for rank 0 (barrier 1, part ", kNever});
}

TEST_P(CirclesOf, ThreeRanksThatReceiveBeforeTheySendEnd) {
  const auto errors = errors_of(3, long_limits(), [](Comm& train, Comm&) {
    // An exchange is of two: 0 with 1, 1 with 2, 2 with 0, each of whom is in the next.
    const std::array<std::byte, 4> out{};
    std::array<std::byte, 4> in{};
    train.exchange((train.rank() + 1) % 3, out, in);
    train.exchange((train.rank() + 2) % 3, out, in);
    float x = 1;
    train.rank() == 2 ? train.barrier() : train.sum(std::span(&x, 1));
  });
  expect_said(errors, {kNever});
}

TEST_P(CirclesOf, ALargeVectorAgainstABarrierEnds) {
  const auto errors = errors_of(2, long_limits(), [](Comm& train, Comm&) {
    std::vector<float> x(1 << 20U, 1.0F);
    train.sum(x);
    train.rank() == 0 ? train.sum(x) : train.barrier();
  });
  expect_said(errors, {kNever});
}

TEST_P(CirclesOf, ARankThatAsksAllWhileTheOthersTrainEndsAtTheStallLimit) {
  WaitLimits limits = long_limits();
  limits.stall = Seconds(1.5);
  const auto errors = errors_of(2, limits, [](Comm& train, Comm& control) {
    float x = 1;
    train.sum(std::span(&x, 1));
    control.sum(std::span(&x, 1));
    (train.rank() == 0 ? control : train).sum(std::span(&x, 1));
  });
  expect_said(errors, {"rank 0 waits for rank 1 (control all-reduce 1",
                       "rank 1 waits for rank 0 (all-reduce 1", kNever});
}

TEST_P(CirclesOf, RanksThatWaitForALateOneGoOn) {
  const auto errors = errors_of(4, long_limits(), [](Comm& train, Comm& control) {
    std::vector<float> x(100, 1.0F);
    if (train.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    train.sum(x);
    control.barrier();
    train.all_gather(x);
  });
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

// Waits so short that they are looked at as soon as they begin, over and over.
TEST_P(CirclesOf, LegalExchangesInAllLanesAreNeverTakenForOne) {
  WaitLimits limits = long_limits();
  limits.stall = Seconds(0.002);
  const auto errors = errors_of(3, limits, [](Comm& train, Comm& control) {
    Rng common(7, Rng::kEveryRank, 3, Rng::Use::kData);
    Rng own(7, train.rank(), 3, Rng::Use::kData);
    std::vector<float> x(40000, 1.0F);
    std::vector<float> y(100, 1.0F);
    std::vector<float> z(100, 1.0F);
    const std::array<std::byte, 8> out{};
    std::array<std::byte, 8> in{};
    std::unique_ptr<Pending> behind;
    for (int round = 0; round < 150; ++round) {
      if (own.below(3) == 0) std::this_thread::sleep_for(std::chrono::microseconds(own.below(8000)));
      const auto kind = common.below(6);
      Comm& comm = common.below(2) == 0 ? train : control;
      if (kind == 0) comm.sum(x);
      if (kind == 1) comm.barrier();
      if (kind == 2) comm.broadcast(bytes_of(FloatView(y)), static_cast<int>(common.below(3)));
      if (kind == 3 && comm.rank() < 2) comm.exchange(1 - comm.rank(), out, in);
      if (kind == 4) comm.all_gather(x);
      if (kind == 5 && behind) behind->wait();
      if (kind == 5) behind = train.start([&z](Collectives& lane) { lane.sum(z); });
    }
    if (behind) behind->wait();
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

TEST_P(CirclesOf, AnExchangeInTheBackgroundEndsNoWaitInFront) {
  // Rank 0 waits in front for rank 1, and rank 1 behind for rank 0, whose turn that is when it has slept.
  const auto errors = errors_of(2, long_limits(), [](Comm& train, Comm&) {
    float x = 1;
    float y = 1;
    const auto behind = train.start([&](Collectives& comm) {
      if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3000));
      comm.sum(std::span(&y, 1));
    });
    if (train.rank() == 1) behind->wait();
    train.sum(std::span(&x, 1));
    if (train.rank() == 0) behind->wait();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

INSTANTIATE_TEST_SUITE_P(
    Worlds, CirclesOf,
    ::testing::Values(
        WorldKind{"threads",
                  [](int ranks, WaitLimits limits) {
                    return std::make_unique<InprocTestFabric>(ranks, std::move(limits));
                  }},
        WorldKind{"tcp",
                  [](int ranks, const WaitLimits& limits) {
                    return std::make_unique<TcpTestFabric>(ranks, limits, TcpTestFabric::Kind{});
                  }},
        WorldKind{"tls_and_memory",
                  [](int ranks, const WaitLimits& limits) {
                    return std::make_unique<TcpTestFabric>(ranks, limits, TcpTestFabric::Kind{true, true});
                  }}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tacit::test
