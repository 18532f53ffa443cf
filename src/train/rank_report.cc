// SPDX-License-Identifier: MIT
#include "tacit/train/rank_report.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "collectives/gather.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

// A report without pointers and without holes.
struct Packed {
  std::int64_t steps = 0;
  double seconds = 0;
  double recent_loss = 0;
  double first_loss = 0;
  double late_loss = 0;
  Evaluated evaluation;
  Traffic sent;
  TimeSpent spent;
  std::uint64_t weights_hash = 0;
  std::uint32_t has_loss = 0;
  std::uint32_t has_first = 0;
  std::uint32_t has_late = 0;
  std::uint32_t has_evaluation = 0;
  std::int32_t rank = 0;
  std::uint16_t finished = 0;
  std::uint16_t has_spent = 0;
};
static_assert(std::is_trivially_copyable_v<Packed> && sizeof(Packed) % sizeof(float) == 0);
static_assert(sizeof(Packed) == sizeof(Evaluated) + sizeof(Traffic) + sizeof(TimeSpent) + 72);

}  // namespace

std::vector<std::byte> pack(const RankReport& report) {
  const Packed packed{report.steps,
                      report.seconds,
                      report.recent_loss.value_or(0),
                      report.first_loss.value_or(0),
                      report.late_loss.value_or(0),
                      report.evaluation.value_or(Evaluated{}),
                      report.sent,
                      report.spent.value_or(TimeSpent{}),
                      report.weights_hash,
                      report.recent_loss.has_value() ? 1U : 0U,
                      report.first_loss.has_value() ? 1U : 0U,
                      report.late_loss.has_value() ? 1U : 0U,
                      report.evaluation.has_value() ? 1U : 0U,
                      report.rank,
                      static_cast<std::uint16_t>(report.finished ? 1 : 0),
                      static_cast<std::uint16_t>(report.spent.has_value() ? 1 : 0)};
  const auto bytes = std::as_bytes(std::span(&packed, 1));
  return {bytes.begin(), bytes.end()};
}

RankReport unpack(ConstBytes bytes) {
  Packed packed;
  if (bytes.size() != sizeof packed)
    throw Mismatch("a rank's report has " + std::to_string(bytes.size()) + " bytes and not " +
                   std::to_string(sizeof packed) + "; do all ranks run the same build?");
  std::memcpy(&packed, bytes.data(), sizeof packed);
  RankReport report;
  report.rank = packed.rank;
  report.finished = packed.finished != 0;
  report.steps = packed.steps;
  report.seconds = packed.seconds;
  if (packed.has_loss != 0) report.recent_loss = packed.recent_loss;
  if (packed.has_first != 0) report.first_loss = packed.first_loss;
  if (packed.has_late != 0) report.late_loss = packed.late_loss;
  if (packed.has_evaluation != 0) report.evaluation = packed.evaluation;
  report.sent = packed.sent;
  if (packed.has_spent != 0) report.spent = packed.spent;
  report.weights_hash = packed.weights_hash;
  return report;
}

std::size_t add_losses(const Comm& comm, RankReport& report) {
  const std::size_t before = report.lost.size();
  for (const Loss& loss : comm.losses())
    if (std::none_of(report.lost.begin(), report.lost.end(),
                     [&](const RankLost& each) { return each.rank == loss.rank && each.back < 0; }))
      report.lost.push_back({loss.rank, report.steps, loss.why});
  return before;
}

std::vector<RankBack> add_returns(const Comm& comm, RankReport& report) {
  std::vector<RankBack> all;
  if (std::none_of(report.lost.begin(), report.lost.end(),
                   [](const RankLost& each) { return each.back < 0; }))
    return all;
  const std::vector<int> living = comm.living();
  for (RankLost& each : report.lost) {
    if (each.back >= 0 || !std::binary_search(living.begin(), living.end(), each.rank)) continue;
    each.back = report.steps;
    all.push_back({each.rank, report.steps});
  }
  return all;
}

std::vector<RankReport> gather_reports(Comm& comm, const RankReport& mine) {
  std::vector<RankReport> reports;
  for (const FromRank& each : gather_bytes(comm, pack(mine))) reports.push_back(unpack(each.bytes));
  return reports;
}

}  // namespace tacit
