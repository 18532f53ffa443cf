// SPDX-License-Identifier: MIT
// Runs many seeds of stream_schedule.h and says how long it took: stream_schedules [--seeds A-B]
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "schedules/stream_schedule.h"

namespace {

bool parse(std::string_view text, std::uint64_t& first, std::uint64_t& last) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), first);
  last = first;
  if (error != std::errc{} || at == text.data() + text.size()) return error == std::errc{};
  const auto [end, wrong] = std::from_chars(at + 1, text.data() + text.size(), last);
  return *at == '-' && wrong == std::errc{} && end == text.data() + text.size() && first <= last;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t last = 100'000;
  const bool asked = argc == 3 && std::string_view(argv[1]) == "--seeds";
  if (argc != 1 && !(asked && parse(argv[2], first, last))) {
    std::fprintf(stderr, "usage: stream_schedules [--seeds A-B]\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  tacit::test::ScheduleResult all;
  int broken = 0;
  for (std::uint64_t seed = first; seed <= last && broken < 10; ++seed) {
    const tacit::test::ScheduleResult one = tacit::test::run_stream_schedule(seed);
    all.events += one.events;
    all.messages += one.messages;
    all.offers += one.offers;
    all.key_updates += one.key_updates;
    all.cuts += one.cuts;
    if (one.broken.empty()) continue;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("seed %ju, after %ju seeds and %.2f s: %s\n", static_cast<std::uintmax_t>(seed),
                static_cast<std::uintmax_t>(seed - first + 1), took.count(), one.broken.c_str());
    std::fflush(stdout);
    ++broken;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf(
      "seeds %ju-%ju: %d broke a law; %ju events, %ju messages, %ju offers, %ju key updates, %ju cut ends; "
      "%.1f s\n",
      static_cast<std::uintmax_t>(first), static_cast<std::uintmax_t>(last), broken,
      static_cast<std::uintmax_t>(all.events), static_cast<std::uintmax_t>(all.messages),
      static_cast<std::uintmax_t>(all.offers), static_cast<std::uintmax_t>(all.key_updates),
      static_cast<std::uintmax_t>(all.cuts), took.count());
  return broken == 0 ? 0 : 1;
}
