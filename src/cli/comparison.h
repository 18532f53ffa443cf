// SPDX-License-Identifier: MIT
// What came out of several runs: their table and compare.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/identity.h"

namespace tacit::cli {

enum class RunStatus { kMissing, kFinished, kDiverged, kFailed };

// One run.
struct Outcome {
  std::uint64_t seed = 0;
  RunStatus status = RunStatus::kMissing;
  std::string error{};     // why it diverged, failed or is missing
  bool picked_up = false;  // from an earlier comparison
  Identity identity{};
  double step_seconds = 0;
  std::optional<double> seconds{};         // of all steps, where it made them all
  std::optional<double> target_seconds{};  // until the target accuracy, where it was reached
  std::optional<double> accuracy{};
  double bytes_per_worker = 0;
  // Shares of a worker's time, on average.
  double computing = 0;
  double communicating = 0;
  double waiting = 0;
  std::string trace_hash{};    // of what was sent and when
  std::string weights_hash{};  // of what was learned

  bool has_numbers() const { return status == RunStatus::kFinished || status == RunStatus::kDiverged; }
};

// The runs that differ in their seed alone: one line of the table.
struct Row {
  std::string name;
  int workers = 0;
  std::vector<Outcome> outcomes;
  std::optional<double> speed_up{};  // against the first line with as many workers

  std::size_t count(RunStatus status) const;
};

// Of a run that has ended, by its log.
Outcome read_outcome(std::uint64_t seed, const std::filesystem::path& out);
Outcome outcome_without_numbers(std::uint64_t seed, RunStatus status, const std::string& why);

struct Comparison {
  std::string title;
  std::optional<double> target;
  bool cost_only = false;
  std::vector<Row> rows;
  std::string machine{};  // that it was made on

  // The first row with as many workers: what a row is held against.
  const Row& first_of(const Row& row) const;

  // By the mean time to the target: none where no target was wanted, where a run of either line missed it, diverged or
  // failed, or is missing. Runs for their cost alone learn nothing that could be equal; there it is the time of all
  // steps.
  void set_speed_ups();

  bool good() const;      // no run diverged, failed or is missing
  bool complete() const;  // no run is missing
  void print() const;
  void print_json() const;
  // Written aside and renamed, so that there is always a whole one. Throws InvalidConfig.
  void write(const std::filesystem::path& file) const;
};

// Finds in an earlier compare.json what need not be run again.
class EarlierRuns {
 public:
  // Without a file, or with one that is not a comparison's, there are none.
  explicit EarlierRuns(const std::filesystem::path& file);
  // Throws InvalidConfig where a comparison without some of these runs, or something else, is in its place.
  void refuse_to_lose(const std::vector<Identity>& kept) const;
  // The run of this identity, if it finished or diverged and `out` still holds it.
  std::optional<Outcome> find(const Identity& identity, std::uint64_t seed,
                              const std::filesystem::path& out) const;

 private:
  struct Run {
    Identity identity;
    std::string trace_hash;
    std::string weights_hash;
  };
  const std::filesystem::path file_;
  std::vector<Run> runs_;
  bool foreign_ = false;  // there is a file, of an earlier version or of somebody else
};

}  // namespace tacit::cli
