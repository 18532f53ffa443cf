// SPDX-License-Identifier: MIT
// Collectives among ranks that are lost, one after the other, and come back while the others go on.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "collectives/surviving_comm.h"
#include "support/returning_ranks.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

constexpr int kRanks = 4;
// A sum at every step, whose bits say who took part, until all have been lost and are back. Ranks would wait for a newcomer for ever if it did not know where it
// comes in, and would get different sums if they did not all count on it from the same step on.
class LossyRun {
 public:
  // These ranks are lost, in this order, each once the one before is back.
  explicit LossyRun(std::vector<int> losses) : losses_(std::move(losses)), ranks_(kRanks) {}

  void all() {
    run_ranks(kRanks, [&](int rank) {
      std::optional<int> entry = 0;
      while (entry) entry = live(rank, *entry);
    });
  }
  // By step: the different sums that ranks got.
  const std::map<int, std::set<float>>& sums() const { return sums_; }

 private:
  struct Place {
    int step = 0;
    std::int64_t number = 0;
  };
  struct Asked {
    int rank;
    std::promise<Place> answer;
  };

  // One life, as its so many-th return; the next one's number, where it is not the last.
  std::optional<int> live(int rank, int entry) {
    if (entry > 0) ranks_.come_back(rank, static_cast<std::uint32_t>(entry));
    const std::optional<int> next = steps(rank, entry);
    if (next) {
      ranks_.lose(rank);
      EXPECT_TRUE(ranks_.is_lost(rank));
    }
    return next;
  }

  std::optional<int> steps(int rank, int entry) {
    ThreadTasks tasks;
    Endpoint& endpoint = ranks_.endpoint(rank);
    const auto comm = make_surviving_comm(endpoint, tasks, Tag::Lane::kTrain,
                                          make_endpoint_comm(endpoint, tasks, Tag::Lane::kTrain));
    int step = entry > 0 ? enter(*comm) : 0;
    for (;; ++step) {
      if (add_up(*comm, step)) break;
      admit_another(*comm, step + 1);
      const auto next = static_cast<std::size_t>(back_.load());
      const bool dies = next < losses_.size() && losses_[next] == rank;
      if (dies && step > 10 * static_cast<int>(next)) return static_cast<int>(next) + 1;
    }
    comm->barrier();
    return std::nullopt;
  }

  // Alone at first, and where the others are then.
  int enter(Comm& comm) {
    EXPECT_TRUE(comm.outside());
    EXPECT_EQ(comm.living(), std::vector<int>{comm.rank()});
    std::vector<float> alone{3};
    comm.mean(alone);
    EXPECT_EQ(alone[0], 3);
    std::promise<Place> answer;
    auto place = answer.get_future();
    {
      const std::lock_guard lock(mutex_);
      asked_.emplace(Asked{comm.rank(), std::move(answer)});
    }
    const auto [step, number] = place.get();
    comm.enter(number);
    EXPECT_FALSE(comm.outside());
    ++back_;
    return step;
  }

  void admit_another(Comm& comm, int step) {
    std::optional<Asked> asked;
    {
      const std::lock_guard lock(mutex_);
      if (asked_ && comm.rank() == comm.head()) asked = std::exchange(asked_, std::nullopt);
    }
    if (asked) asked->answer.set_value({step, comm.admit(asked->rank, comm.entry(asked->rank))});
  }

  // Whether all take part and know that nobody will be lost any more.
  bool add_up(Comm& comm, int step) {
    const bool over = static_cast<std::size_t>(back_.load()) == losses_.size();
    std::vector<float> x{static_cast<float>(1U << static_cast<unsigned>(comm.rank())), over ? 1.0F : 0.0F};
    comm.sum(x);
    const std::lock_guard lock(mutex_);
    sums_[step].insert(x[0]);
    return x[1] == kRanks;
  }

  const std::vector<int> losses_;
  ReturningRanks ranks_;
  std::atomic<int> back_{0};
  std::mutex mutex_;
  std::optional<Asked> asked_;
  std::map<int, std::set<float>> sums_;
};

void expect_one_sum_per_step(const LossyRun& run) {
  for (const auto& [step, sums] : run.sums()) EXPECT_EQ(sums.size(), 1U) << "step " << step;
  EXPECT_EQ(*run.sums().rbegin()->second.begin(), 15) << "not all take part in the end";
}

TEST(SurvivingCommReturn, ARankThatIsBackIsCountedByAllFromTheSameCollectiveOn) {
  LossyRun run({2});
  run.all();
  expect_one_sum_per_step(run);
}

TEST(SurvivingCommReturn, TheHeadMayBeLostAndComeBackAndSoMayAll) {
  LossyRun run({0, 1, 0, 3, 2, 1, 0});
  run.all();
  expect_one_sum_per_step(run);
}

}  // namespace
}  // namespace tacit::test
