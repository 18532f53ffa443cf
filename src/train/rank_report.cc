// SPDX-License-Identifier: MIT
#include "tacit/train/rank_report.h"

#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "tacit/core/error.h"

namespace tacit {
namespace {

// A report without pointers and without holes.
struct Packed {
  std::int64_t steps = 0;
  double seconds = 0;
  double recent_loss = 0;
  Evaluated evaluation;
  Traffic sent;
  std::uint64_t weights_hash = 0;
  std::uint32_t has_loss = 0;
  std::uint32_t has_evaluation = 0;
};
static_assert(std::is_trivially_copyable_v<Packed>);
static_assert(sizeof(Packed) == sizeof(Evaluated) + sizeof(Traffic) + 40);

}  // namespace

std::vector<std::byte> pack(const RankReport& report) {
  const Packed packed{report.steps,
                      report.seconds,
                      report.recent_loss.value_or(0),
                      report.evaluation.value_or(Evaluated{}),
                      report.sent,
                      report.weights_hash,
                      report.recent_loss.has_value() ? 1U : 0U,
                      report.evaluation.has_value() ? 1U : 0U};
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
  report.steps = packed.steps;
  report.seconds = packed.seconds;
  if (packed.has_loss != 0) report.recent_loss = packed.recent_loss;
  if (packed.has_evaluation != 0) report.evaluation = packed.evaluation;
  report.sent = packed.sent;
  report.weights_hash = packed.weights_hash;
  return report;
}

std::vector<RankReport> gather_reports(Comm& comm, const RankReport& mine) {
  std::vector<std::byte> packed = pack(mine);
  if (comm.rank() != 0) {
    comm.exchange(0, packed, {});
    return {};
  }
  std::vector<RankReport> all{mine};
  for (int rank = 1; rank < comm.size(); ++rank) {
    comm.exchange(rank, {}, packed);
    all.push_back(unpack(packed));
  }
  return all;
}

}  // namespace tacit
