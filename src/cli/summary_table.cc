// SPDX-License-Identifier: MIT
#include "cli/summary_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/layout.h"
#include "cli/print_or_drop.h"
#include "cli/terminal.h"

namespace tacit::cli {
namespace {

constexpr std::size_t kNames = 15;  // columns of them

// 1234567.8 -> "1,234,568"
std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (b >= 1e9) return fmt::format("{:.2f} GB", b / 1e9);
  if (b >= 1e6) return fmt::format("{:.1f} MB", b / 1e6);
  return fmt::format("{:.1f} kB", b / 1e3);
}

// Whose the numbers of a run are that did not come to its end.
std::string figures_of(const Summary& s) {
  if (s.only_rank && s.workers > 1)
    return fmt::format("of rank {} alone, up to its step {}; what the others had done is not known to it",
                       *s.only_rank, s.steps);
  return fmt::format("of {}, up to step {}",
                     s.workers > 1 ? fmt::format("all {} workers", s.workers) : "the worker", s.steps);
}

}  // namespace

std::string describe(const RankLost& lost) {
  const std::string back = lost.back < 0 ? "" : fmt::format(" and was back at step {}", lost.back);
  return fmt::format("rank {} was lost at step {}{}: {}", lost.rank, lost.step, back, lost.why);
}

std::string describe(const ShardSpread& spread) {
  return fmt::format(
      "{:.0f} % of a worker's samples are of one class, on average; the smallest shard has {} samples, the "
      "largest {}",
      100 * spread.largest_class, grouped(static_cast<double>(spread.smallest)),
      grouped(static_cast<double>(spread.largest)));
}

void print_table(const Summary& s, std::optional<double> target) {
  const auto row = [](const char* name, const std::string& value) {
    const std::string line = fmt::format("{:<{}} {}", name, kNames, value);
    print_or_drop(stdout, "{}\n", wrapped(line, columns_of(STDOUT_FILENO), kNames + 1));
  };
  print_or_drop(stdout, "\n");
  row("status", s.status);
  if (s.only_rank || s.status == "interrupted" || s.status == "failed") row("figures", figures_of(s));
  row("strategy",
      fmt::format("{} with {} worker{} ({})", s.strategy, s.workers, s.workers == 1 ? "" : "s", s.world));
  if (!s.compress.empty()) row("compress", s.compress);
  row("model, data", s.model + ", " + s.data);
  if (s.shard_spread) row("shards", s.shards + ": " + describe(*s.shard_spread));
  row("steps",
      fmt::format("{} ({} samples in {} s of {})", s.steps, grouped(static_cast<double>(s.samples)),
                  s.seconds < 10 ? fmt::format("{:.3f}", s.seconds) : fmt::format("{:.1f}", s.seconds),
                  s.trace_hash.empty() ? "training" : "virtual time"));
  if (s.loss) row("loss", fmt::format("{:.4f} in training, last steps", *s.loss));
  if (s.test_loss) row("test loss", fmt::format("{:.4f}", *s.test_loss));
  if (s.accuracy) row("test accuracy", fmt::format("{:.2f} %", 100 * *s.accuracy));
  if (target)
    row(fmt::format("to {:.1f} %", 100 * *target).c_str(),
        s.target_seconds ? fmt::format("{:.3f} s", *s.target_seconds) : "not reached");
  row("samples/s", grouped(s.samples_per_second));
  row("bytes sent",
      fmt::format("{} in {} messages, {}", bytes_text(s.bytes_wire), grouped(static_cast<double>(s.messages)),
                  s.only_rank ? "of this worker alone" : "all workers together"));
  if (s.compute_seconds && s.seconds > 0)
    row("worker's time",
        fmt::format("{:.0f} % computing, {:.0f} % communicating, {:.0f} % waiting, on average",
                    100 * *s.compute_seconds / s.seconds, 100 * *s.communicate_seconds / s.seconds,
                    100 * *s.wait_seconds / s.seconds));
  for (const RankLost& lost : s.lost) row("lost", describe(lost));
  const auto gone =
      std::count_if(s.lost.begin(), s.lost.end(), [](const RankLost& each) { return each.back < 0; });
  if (!s.lost.empty()) row("", fmt::format("{} of {} workers finished", s.workers - gone, s.workers));
  if (!s.weights_hash.empty()) row("weights hash", s.weights_hash);
  if (!s.trace_hash.empty()) row("trace hash", s.trace_hash);
}

}  // namespace tacit::cli
