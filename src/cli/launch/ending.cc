// SPDX-License-Identifier: MIT
#include "cli/launch/ending.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>
#include <vector>

namespace tacit::cli {
namespace {

// 0, 1, 2, 4 -> "ranks 0-2, 4"
std::string names(std::span<const int> numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "-", numbers[last]);
    i = last + 1;
  }
  return (numbers.size() > 1 ? "ranks " : "rank ") + text;
}

std::string predicate(const Ending& ending, bool plural) {
  const char* const was = plural ? "were" : "was";
  switch (ending.kind) {
    case Ending::Kind::kExited:
      return fmt::format("exited with {}", ending.value);
    case Ending::Kind::kKilled:
      return fmt::format("{} killed by signal {} ({})", was, ending.value, ::strsignal(ending.value));
    case Ending::Kind::kLost:
      return fmt::format("{} lost: {}", was, ending.why);
    case Ending::Kind::kNotStarted:
      break;
  }
  return fmt::format("{} not started{}{}", was, ending.why.empty() ? "" : ": ", ending.why);
}

}  // namespace

Ending Ending::from_wait_status(int status) {
  return WIFSIGNALED(status) ? killed(WTERMSIG(status)) : exited(WEXITSTATUS(status));
}

std::string describe(const std::string& who, const Ending& ending) {
  return who + " " + predicate(ending, false);
}

std::string describe_all(std::span<const Ending> endings) {
  std::vector<bool> said(endings.size());
  std::string text;
  for (std::size_t i = 0; i < endings.size(); ++i) {
    if (said[i]) continue;
    std::vector<int> ranks;
    for (std::size_t k = i; k < endings.size(); ++k)
      if (endings[k] == endings[i]) {
        said[k] = true;
        ranks.push_back(static_cast<int>(k));
      }
    text += (text.empty() ? "" : "; ") + names(ranks) + " " + predicate(endings[i], ranks.size() > 1);
  }
  return text;
}

std::string describe_still(std::span<const int> ranks) {
  return names(ranks) + (ranks.size() > 1 ? " still run and are ended" : " still runs and is ended");
}

std::string describe_stopped(std::span<const int> ranks, double seconds) {
  return names(ranks) + fmt::format("{} stopped, and no other rank is left; {:g} s until {} ended",
                                    ranks.size() > 1 ? " are" : " is", seconds,
                                    ranks.size() > 1 ? "they are" : "it is");
}

std::string describe_given_up(std::span<const int> ranks, double seconds) {
  return names(ranks) +
         (ranks.size() > 1
              ? fmt::format(
                    " still run, without which others have finished; they have {:g} s to end by themselves",
                    seconds)
              : fmt::format(" still runs, without which others have finished; it has {:g} s to end by itself",
                            seconds));
}

}  // namespace tacit::cli
