// SPDX-License-Identifier: MIT
// What every contestant of `tacit bench` has in common: the lines in which it is asked and answers, and how it times.
// The standard library alone, because the programs in bench/ that run other libraries use it too.
//
// The parent gives turns: it writes `KIND BYTES` to the standard input of a contestant's rank 0 and reads one line, the
// seconds of one operation, from its standard output. The end of the input ends the contestant. Between its turns a
// contestant sleeps, so that all have the cores to themselves when it is theirs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tacit::cli {

struct Turn {
  std::string kind;  // allreduce, latency, bandwidth
  std::size_t bytes = 0;
};

// Waits for the next line; nothing at the end of the input.
inline std::optional<Turn> next_turn(std::istream& in = std::cin) {
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  std::istringstream words(line);
  Turn turn;
  if (!(words >> turn.kind >> turn.bytes))
    throw std::runtime_error("a turn is KIND BYTES, not '" + line + "'");
  return turn;
}

inline void answer(double seconds) {
  std::printf("%.9g\n", seconds);
  std::fflush(stdout);
}

using BenchClock = std::chrono::steady_clock;

inline double seconds_since(BenchClock::time_point start) {
  return std::chrono::duration<double>(BenchClock::now() - start).count();
}

// Seconds of one `once`, over a count of them that fills a turn and that all ranks agree on. `once` is one operation,
// collective or between two ranks; `agree` broadcasts an int from rank 0.
template <class Once, class Agree>
double measure(const Once& once, const Agree& agree) {
  constexpr double kSecondsPerTurn = 0.15;
  constexpr int kTrials = 5;
  for (int i = 0; i < 3; ++i) once();
  const auto trial = BenchClock::now();
  for (int i = 0; i < kTrials; ++i) once();
  const double each = std::max(seconds_since(trial) / kTrials, 1e-7);
  int count = std::clamp(static_cast<int>(kSecondsPerTurn / each), 3, 50'000);
  agree(count);
  const auto start = BenchClock::now();
  for (int i = 0; i < count; ++i) once();
  return seconds_since(start) / count;
}

}  // namespace tacit::cli
