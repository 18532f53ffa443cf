// SPDX-License-Identifier: MIT
#include "cli/probe.h"

#include <algorithm>
#include <array>
#include <span>

#include "tacit/core/views.h"

namespace tacit::cli {
namespace {

constexpr std::array<std::size_t, 2> kPairSizes{8, std::size_t{1} << 20U};
constexpr std::array<std::size_t, 5> kSizes{1U << 10U, 1U << 14U, 1U << 17U, 1U << 19U, 1U << 21U};
constexpr int kLeast = 3;    // timings of which a median is taken
constexpr int kMost = 1000;  // more tell nothing new
constexpr int kMostPairs = 64;

// What rank 0 says counts, so that all stop together. Around what is timed, never within.
bool agree(Process& me, bool go_on) {
  std::array<std::byte, 1> word{go_on ? std::byte{1} : std::byte{0}};
  me.control().broadcast(word, 0);
  return word[0] != std::byte{0};
}

// Every rank's numbers on each of them.
std::vector<std::vector<double>> gather(Process& me, const std::vector<double>& mine) {
  const auto ranks = static_cast<std::size_t>(me.size());
  const std::vector<ConstBytes> out(ranks, std::as_bytes(std::span(mine)));
  std::vector<std::vector<double>> all(ranks, mine);
  me.control().all_to_all(out, [&](int from, ConstBytes message) {
    copy<std::byte>(message, std::as_writable_bytes(std::span(all[static_cast<std::size_t>(from)])));
  });
  return all;
}

// Calls `once` on all ranks, again and again, until the time is over; what it says it took.
template <class Once>
std::vector<double> repeat(Process& me, Seconds about, const Once& once) {
  const Clock& clock = me.tasks().clock();
  std::vector<double> seconds;
  const Seconds end = clock.now() + about;
  once();  // the first one warms up
  do {
    me.control().barrier();
    seconds.push_back(once());
  } while (agree(me, static_cast<int>(seconds.size()) < kLeast ||
                         (clock.now() < end && static_cast<int>(seconds.size()) < kMost)));
  return seconds;
}

template <class Fn>
double seconds_of(Process& me, const Fn& fn) {
  const Seconds start = me.tasks().clock().now();
  fn();
  return std::max((me.tasks().clock().now() - start).count(), 1e-9);
}

double mean_over_ranks(Process& me, double mine) {
  double sum = 0;
  for (const auto& each : gather(me, {mine})) sum += each[0];
  return sum / me.size();
}

// Every pair once, in rounds in which no rank has two: rank 0 stays, the others move on (the circle method).
std::vector<std::pair<int, int>> all_pairs(int ranks) {
  std::vector<std::pair<int, int>> pairs;
  const int seats = ranks + ranks % 2;
  for (int round = 0; round < seats - 1; ++round)
    for (int i = 0; i < seats / 2; ++i) {
      const auto at = [&](int seat) { return seat == 0 ? 0 : 1 + (seat - 1 + round) % (seats - 1); };
      const auto [a, b] = std::minmax({at(i), at(seats - 1 - i)});
      if (b < ranks) pairs.emplace_back(a, b);
    }
  return pairs;
}

}  // namespace

std::vector<std::vector<double>> time_steps(Process& me, const std::function<void()>& step, Seconds about) {
  for (int i = 0; i < kLeast; ++i) step();  // the first ones warm up
  std::vector<double> count{about.count() / seconds_of(me, step)};
  me.control().broadcast(std::as_writable_bytes(std::span(count)), 0);
  // One after the other, without meeting: where ranks share cores, each has to wait for one in the midst of a step, as
  // in training, and not before it.
  std::vector<double> seconds(static_cast<std::size_t>(std::clamp(count[0], 1.0 * kLeast, 10.0 * kMost)));
  me.control().barrier();
  for (double& each : seconds) each = seconds_of(me, step);
  return gather(me, seconds);
}

double time_memory(Process& me) {
  const std::vector<float> from((std::size_t{16} << 20U) / sizeof(float), 1.0F);
  std::vector<float> to(from.size());
  const auto seconds =
      repeat(me, Seconds(0.1), [&] { return seconds_of(me, [&] { copy<float>(from, to); }); });
  return static_cast<double>(from.size() * sizeof(float)) / mean_over_ranks(me, median(seconds));
}

std::vector<PairSpeed> time_pairs(Process& me, Seconds about) {
  auto pairs = all_pairs(me.size());
  if (pairs.size() > kMostPairs) pairs.resize(kMostPairs);
  const Seconds each = about / static_cast<double>(pairs.size() * kPairSizes.size());
  std::vector<std::byte> out(kPairSizes.back());
  std::vector<std::byte> in(out.size());
  std::vector<PairSpeed> speeds;
  for (const auto& [first, second] : pairs) {
    const bool mine = me.rank() == first || me.rank() == second;
    const int peer = me.rank() == first ? second : first;
    std::vector<LinkTiming> timings;
    for (const std::size_t bytes : kPairSizes) {
      // Both ways at once, one after the other, so that each begins when the one before has come.
      const int row = bytes == kPairSizes.front() ? 20 : 2;
      const auto exchanges = [&] {
        for (int i = 0; i < row && mine; ++i)
          me.comm().exchange(peer, ConstBytes(out).first(bytes), Bytes(in).first(bytes));
      };
      const auto seconds = repeat(me, each, [&] { return seconds_of(me, exchanges) / row; });
      const double middle = gather(me, {median(seconds)})[static_cast<std::size_t>(first)][0];
      timings.push_back({static_cast<double>(bytes), middle});
    }
    speeds.push_back({first, second, fit_link(timings)});
  }
  return speeds;
}

std::vector<LinkTiming> time_all_at_once(Process& me, Seconds about) {
  std::vector<LinkTiming> timings;
  const std::vector<std::byte> out(kSizes.back());
  const auto ranks = static_cast<std::size_t>(me.size());
  for (const std::size_t bytes : kSizes) {
    std::vector<ConstBytes> messages(ranks, ConstBytes(out).first(bytes));
    messages[static_cast<std::size_t>(me.rank())] = {};
    constexpr int kRow = 4;  // a barrier lets some ranks go first; what comes after it does not
    const auto rounds = [&] {
      for (int i = 0; i < kRow; ++i) me.comm().all_to_all(messages, [](int, ConstBytes) {});
    };
    const auto seconds =
        repeat(me, about / static_cast<double>(kSizes.size()), [&] { return seconds_of(me, rounds) / kRow; });
    timings.push_back({static_cast<double>(bytes * (ranks - 1)), mean_over_ranks(me, median(seconds))});
  }
  return timings;
}

}  // namespace tacit::cli
