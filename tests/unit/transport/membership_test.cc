// SPDX-License-Identifier: MIT
// Worlds of Memberships with links that are cut and ranks that stop, in a time of their own.
#include "transport/membership.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <queue>
#include <utility>

#include "tacit/core/rng.h"

namespace tacit::test {
namespace {

constexpr Seconds kLostAfter{8};
constexpr Seconds kBeat = heartbeat(kLostAfter);
constexpr Seconds kLook{0.25};

// Ranks that hear each other's heartbeats. A cut holds back what is sent, as TCP does, until it is mended.
class Ranks {
 public:
  explicit Ranks(int size, std::uint64_t seed = 0)
      : rng_(seed, 0, 0, Rng::Use::kStraggler),
        last_heard_(at(size), std::vector<Seconds>(at(size), Seconds(0))) {
    for (int rank = 0; rank < size; ++rank) members_.emplace_back(rank, size, kLostAfter);
    ends_.resize(at(size));
    died_.resize(at(size));
    stopped_.resize(at(size));
    slept_.resize(at(size));
    cut_.assign(at(size), std::vector<bool>(at(size)));
    held_.resize(at(size), std::vector<std::vector<Letter>>(at(size)));
    for (int rank = 0; rank < size; ++rank) offset_.push_back(rng_.uniform() * kBeat.count());
  }

  int size() const { return static_cast<int>(members_.size()); }
  void cut(int from, int to, bool yes = true) {
    cut_[at(from)][at(to)] = yes;
    if (!yes)
      for (Letter& letter : std::exchange(held_[at(from)][at(to)], {})) fly(std::move(letter));
  }
  void cut_both(int a, int b, bool yes = true) {
    cut(a, b, yes);
    cut(b, a, yes);
  }
  void stop(int rank) {
    stopped_[at(rank)] = true;
    slept_[at(rank)] = now_;
  }
  void go_on(int rank) {
    stopped_[at(rank)] = false;
    members_[at(rank)].was_away(now_ - slept_[at(rank)], now_);
    for (Letter& letter : std::exchange(mail_[rank], {})) deliver(letter);
    look(rank);
  }
  void kill(int rank) {
    died_[at(rank)] = true;
    stopped_[at(rank)] = false;
    for (int peer = 0; peer < size(); ++peer) send({rank, peer, Letter::Kind::kClosed});
  }
  // The connection breaks, and both live.
  void reset(int a, int b) {
    send({a, b, Letter::Kind::kClosed});
    send({b, a, Letter::Kind::kClosed});
  }
  bool lives(int rank) const { return !died_[at(rank)] && ends_[at(rank)].empty(); }
  bool sees(int rank, int peer) const { return members_[at(rank)].here(peer); }
  const std::string& end(int rank) const { return ends_[at(rank)]; }
  const std::string& why(int rank, int lost) { return whys_[{rank, lost}]; }

  void run(Seconds duration) {
    const Seconds until = now_ + duration;
    while (now_ < until) {
      now_ += kLook;
      for (int rank = 0; rank < size(); ++rank)
        if (lives(rank) && !stopped_[at(rank)]) beat(rank);
      while (!flying_.empty() && flying_.top().due <= now_) {
        const Letter letter = flying_.top();
        flying_.pop();
        deliver(letter);
      }
      for (int rank = 0; rank < size(); ++rank)
        if (lives(rank) && !stopped_[at(rank)]) look(rank);
    }
  }
  std::vector<int> living() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < size(); ++rank)
      if (lives(rank)) ranks.push_back(rank);
    return ranks;
  }

 private:
  struct Letter {
    enum class Kind { kHeartbeat, kAccusation, kGivenUp, kClosed } kind;
    int from;
    int to;
    Accusation accusation{};
    Loss loss{};
    Seconds due{0};
    Letter(int sender, int receiver, Kind what) : kind(what), from(sender), to(receiver) {}
    friend bool operator<(const Letter& a, const Letter& b) { return a.due > b.due; }
  };
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  void beat(int rank) {
    const double beats = (now_.count() + offset_[at(rank)]) / kBeat.count();
    if (std::floor(beats) == std::floor(beats - kLook.count() / kBeat.count())) return;
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank && members_[at(rank)].here(peer)) send({rank, peer, Letter::Kind::kHeartbeat});
  }
  void send(Letter letter) {
    if (cut_[at(letter.from)][at(letter.to)]) {
      held_[at(letter.from)][at(letter.to)].push_back(std::move(letter));
    } else {
      fly(std::move(letter));
    }
  }
  void fly(Letter letter) {
    Seconds& last = due_[{letter.from, letter.to}];  // a connection keeps its order
    last = std::max(last, now_ + Seconds(0.1 * static_cast<double>(rng_.uniform())));
    letter.due = last;
    flying_.push(std::move(letter));
  }
  void deliver(const Letter& letter) {
    const int rank = letter.to;
    if (!lives(rank) || rank == letter.from) return;
    if (stopped_[at(rank)]) {
      mail_[rank].push_back(letter);
      return;
    }
    Membership& self = members_[at(rank)];
    last_heard_[at(rank)][at(letter.from)] = now_;
    if (letter.kind == Letter::Kind::kAccusation) self.hear(letter.accusation, now_);
    if (letter.kind == Letter::Kind::kGivenUp) self.adopt(letter.from, letter.loss);
    if (letter.kind == Letter::Kind::kClosed) self.close(letter.from, now_);
    look(rank);
  }
  void look(int rank) {
    Membership& self = members_[at(rank)];
    const auto orders = self.look(now_, last_heard_[at(rank)]);
    for (const Accusation& each : orders.tell)
      for (int peer = 0; peer < size(); ++peer)
        if (self.here(peer) || peer == each.accused) accuse(rank, peer, each);
    for (const Accusation& each : orders.relay) accuse(rank, each.accused, each);
    for (const Loss& loss : orders.given_up) {
      whys_[{rank, loss.rank}] = loss.why;
      for (int peer = 0; peer < size(); ++peer) {
        if (!self.here(peer) && peer != loss.rank) continue;
        Letter letter(rank, peer, Letter::Kind::kGivenUp);
        letter.loss = loss;
        send(letter);
      }
    }
    if (orders.end.empty()) return;
    ends_[at(rank)] = orders.end;
    for (int peer = 0; peer < size(); ++peer) send({rank, peer, Letter::Kind::kClosed});
  }
  void accuse(int rank, int peer, const Accusation& what) {
    Letter letter(rank, peer, Letter::Kind::kAccusation);
    letter.accusation = what;
    send(letter);
  }

  Rng rng_;
  Seconds now_{0};
  std::vector<Membership> members_;
  std::vector<std::string> ends_;
  std::vector<bool> died_;
  std::vector<bool> stopped_;
  std::vector<Seconds> slept_;  // since when
  std::vector<double> offset_;  // of heartbeats
  std::vector<std::vector<bool>> cut_;
  std::vector<std::vector<std::vector<Letter>>> held_;
  std::vector<std::vector<Seconds>> last_heard_;
  std::map<int, std::vector<Letter>> mail_;  // of those that are stopped
  std::map<std::pair<int, int>, Seconds> due_;
  std::map<std::pair<int, int>, std::string> whys_;
  std::priority_queue<Letter> flying_;
};

using List = std::vector<int>;

// All that live know of each other, and of nobody else.
void expect_one_world(const Ranks& ranks) {
  for (const int rank : ranks.living())
    for (int peer = 0; peer < ranks.size(); ++peer)
      EXPECT_EQ(ranks.sees(rank, peer), ranks.lives(peer)) << "rank " << rank << " and rank " << peer;
}

TEST(Membership, ARankThatStopsIsGivenUpByAllAndEndsWhenItGoesOn) {
  Ranks ranks(4);
  ranks.run(Seconds(10));
  ranks.stop(2);
  ranks.run(Seconds(20));
  for (const int rank : {0, 1, 3}) {
    EXPECT_FALSE(ranks.sees(rank, 2)) << rank;
    EXPECT_NE(ranks.why(rank, 2).find("nothing was heard of it for "), std::string::npos)
        << ranks.why(rank, 2);
  }
  EXPECT_TRUE(ranks.lives(2));
  ranks.go_on(2);
  ranks.run(Seconds(1));
  EXPECT_EQ(ranks.living(), (List{0, 1, 3}));
  EXPECT_NE(ranks.end(2).find("heard nothing of it"), std::string::npos) << ranks.end(2);
  EXPECT_NE(ranks.end(2).find("it had been stopped or asleep for 20.0 s"), std::string::npos) << ranks.end(2);
  expect_one_world(ranks);
}

TEST(Membership, RanksThatWereAllStoppedForLongGoOnTogether) {
  Ranks ranks(4);
  ranks.run(Seconds(10));
  for (int rank = 0; rank < 4; ++rank) ranks.stop(rank);
  ranks.run(Seconds(100));
  for (int rank = 0; rank < 4; ++rank) ranks.go_on(rank);
  ranks.run(Seconds(50));
  EXPECT_EQ(ranks.living(), (List{0, 1, 2, 3}));
  expect_one_world(ranks);
}

TEST(Membership, OfTwoThatCannotHearEachOtherTheHigherGoesWithinOneLimitOfTheFirst) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Ranks ranks(4, seed);
    ranks.run(Seconds(10));
    ranks.cut_both(1, 2);
    ranks.run(2 * kLostAfter);
    EXPECT_EQ(ranks.living(), (List{0, 1, 3}));
    expect_one_world(ranks);
  }
}

TEST(Membership, OfTwoWhoseConnectionBreaksTheHigherGoes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Ranks ranks(4, seed);
    ranks.run(Seconds(10));
    ranks.reset(1, 2);
    ranks.run(kLostAfter);
    EXPECT_EQ(ranks.living(), (List{0, 1, 3}));
    expect_one_world(ranks);
  }
}

TEST(Membership, WhoIsNotHeardByOneGoesThoughItHearsAll) {
  Ranks ranks(4);
  ranks.cut(1, 3);
  ranks.run(2 * kLostAfter);
  EXPECT_EQ(ranks.living(), (List{0, 2, 3}));
  expect_one_world(ranks);
}

TEST(Membership, ARankThatIsCutOffBlamesItselfAndNobodyElse) {
  for (const int lonely : {0, 2}) {
    Ranks ranks(5);
    for (int peer = 0; peer < 5; ++peer) ranks.cut_both(lonely, peer);
    ranks.run(2 * kLostAfter);
    EXPECT_FALSE(ranks.lives(lonely));
    EXPECT_EQ(ranks.living().size(), 4U);
    EXPECT_NE(ranks.end(lonely).find("its own machine or link is the likely cause"), std::string::npos)
        << ranks.end(lonely);
    expect_one_world(ranks);
  }
}

TEST(Membership, ARankThatHearsNobodyGoesThoughAllHearIt) {
  Ranks ranks(4);
  for (int peer = 1; peer < 4; ++peer) ranks.cut(peer, 0);
  ranks.run(2 * kLostAfter);
  EXPECT_EQ(ranks.living(), (List{1, 2, 3}));
}

TEST(Membership, TwoHalvesDoNotBothGoOn) {
  Ranks ranks(4);
  for (const int a : {0, 3})
    for (const int b : {1, 2}) ranks.cut_both(a, b);
  ranks.run(2 * kLostAfter);
  EXPECT_EQ(ranks.living(), (List{0, 3}));  // the lowest rank decides
  EXPECT_NE(ranks.end(1).find("cannot go on as the smaller part of 4"), std::string::npos) << ranks.end(1);
  expect_one_world(ranks);
}

TEST(Membership, TheGreaterPartGoesOnWithoutTheLowestRank) {
  Ranks ranks(5);
  for (const int a : {0, 1})
    for (const int b : {2, 3, 4}) ranks.cut_both(a, b);
  ranks.run(2 * kLostAfter);
  EXPECT_EQ(ranks.living(), (List{2, 3, 4}));
  expect_one_world(ranks);
}

TEST(Membership, ProcessesThatDiedNeedNoMajority) {
  Ranks ranks(4);
  for (const int rank : {0, 1, 3}) {
    ranks.kill(rank);
    ranks.run(Seconds(1));
  }
  ranks.run(3 * kLostAfter);
  EXPECT_EQ(ranks.living(), (List{2}));
  expect_one_world(ranks);
}

// The others finished and ended while it was stopped; for all it can see they died.
TEST(Membership, ARankThatWasAwayTakesNoClosedConnectionForADeath) {
  Membership self(3, 4, kLostAfter);
  self.was_away(Seconds(30), Seconds(40));
  for (int peer = 0; peer < 3; ++peer) EXPECT_FALSE(self.close(peer, Seconds(40.1)));
  const auto orders = self.look(Seconds(40.1), std::vector<Seconds>(4, Seconds(10)));
  EXPECT_NE(orders.end.find("its own machine or link is the likely cause"), std::string::npos) << orders.end;
}

TEST(Membership, AShortSilenceIsForgiven) {
  Ranks ranks(3);
  ranks.run(Seconds(5));
  ranks.cut_both(0, 1);
  ranks.stop(2);
  ranks.run(kLostAfter - 2 * kBeat);
  ranks.cut_both(0, 1, false);
  ranks.go_on(2);
  ranks.run(3 * kLostAfter);
  EXPECT_EQ(ranks.living(), (List{0, 1, 2}));
  expect_one_world(ranks);
}

// One link, one rank: three others and more do not pay for it with two.
TEST(Membership, OneFaultTakesOneRank) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 2, 0, Rng::Use::kStraggler);
    const int size = 3 + static_cast<int>(rng.below(6));
    Ranks ranks(size, seed);
    ranks.run(Seconds(3.0 * static_cast<double>(rng.uniform())));
    const int a = static_cast<int>(rng.below(static_cast<std::uint64_t>(size)));
    const int b = (a + 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(size - 1)))) % size;
    if (seed % 3 == 0) ranks.cut_both(a, b);
    if (seed % 3 == 1) ranks.cut(a, b);
    if (seed % 3 == 2) ranks.stop(a);
    ranks.run(2 * kLostAfter);
    if (seed % 3 == 2) ranks.go_on(a);
    ranks.run(Seconds(1));
    EXPECT_EQ(ranks.living().size(), static_cast<std::size_t>(size - 1));
    EXPECT_FALSE(ranks.lives(seed % 3 == 0 ? std::max(a, b) : a));
    expect_one_world(ranks);
  }
}

// Whatever happens and however it heals: those that live in the end are one world.
TEST(Membership, NoScheduleOfFaultsLeavesTwoWorlds) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed, 1, 0, Rng::Use::kStraggler);
    const int size = 2 + static_cast<int>(rng.below(6));
    const auto any = [&] { return static_cast<int>(rng.below(static_cast<std::uint64_t>(size))); };
    Ranks ranks(size, seed);
    ranks.run(Seconds(2));
    std::vector<int> stopped;
    for (std::uint64_t fault = 0, faults = 1 + rng.below(5); fault < faults; ++fault) {
      const int a = any();
      const int b = any();
      switch (rng.below(6)) {
        case 0:
          ranks.cut_both(a, b);
          break;
        case 1:
          ranks.cut(a, b);
          break;
        case 2:
          if (ranks.lives(a)) ranks.kill(a);
          break;
        case 3:
          if (ranks.lives(a)) {
            ranks.stop(a);
            stopped.push_back(a);
          }
          break;
        case 4:
          ranks.cut_both(a, b, false);
          break;
        default:
          for (int peer = 0; peer < size; ++peer)
            if (peer % 2 != a % 2) ranks.cut_both(a, peer);
      }
      ranks.run(Seconds(12.0 * static_cast<double>(rng.uniform())));
    }
    ranks.run(4 * kLostAfter);
    for (const int rank : stopped)
      if (ranks.lives(rank)) ranks.go_on(rank);
    for (int a = 0; a < size; ++a)
      for (int b = 0; b < size; ++b) ranks.cut(a, b, false);
    ranks.run(4 * kLostAfter);
    expect_one_world(ranks);
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace tacit::test
