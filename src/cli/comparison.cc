// SPDX-License-Identifier: MIT
#include "cli/comparison.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/comparison_json.h"
#include "cli/comparison_table.h"
#include "cli/terminal.h"
#include "runlog/reader.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool all_finished(const Row& row) { return row.count(RunStatus::kFinished) == row.outcomes.size(); }

}  // namespace

std::size_t Row::count(RunStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(), [&](const Outcome& o) { return o.status == status; }));
}

Outcome read_outcome(std::uint64_t seed, const fs::path& out) {
  const RunRecord run = read_run_log(out / "run.jsonl");
  if (!run.ended) return outcome_without_numbers(seed, RunStatus::kFailed, "its run log has no end");
  const Summary& s = *run.ended;
  if (s.status != "finished" && s.status != "diverged")
    return outcome_without_numbers(seed, RunStatus::kFailed,
                                   s.error.empty() ? "it was " + s.status : s.error);
  Outcome o;
  o.seed = seed;
  o.status = s.status == "finished" ? RunStatus::kFinished : RunStatus::kDiverged;
  o.error = s.error;
  o.step_seconds = s.steps > 0 ? s.seconds / static_cast<double>(s.steps) : 0;
  if (s.steps == run.started.steps) o.seconds = s.seconds;
  o.target_seconds = s.target_seconds;
  o.accuracy = s.accuracy;
  o.bytes_per_worker = static_cast<double>(s.bytes_wire) / s.workers;
  const double all = s.seconds > 0 ? s.seconds : 1;
  o.computing = s.compute_seconds.value_or(0) / all;
  o.communicating = s.communicate_seconds.value_or(0) / all;
  o.waiting = s.wait_seconds.value_or(0) / all;
  o.trace_hash = s.trace_hash;
  o.weights_hash = s.weights_hash;
  return o;
}

Outcome outcome_without_numbers(std::uint64_t seed, RunStatus status, const std::string& why) {
  return {.seed = seed, .status = status, .error = why};
}

void Comparison::set_speed_ups() {
  const auto time = [&](const Row& row) -> std::optional<double> {
    if (!all_finished(row)) return std::nullopt;
    const auto s = sample_of(row, cost_only ? Value(seconds) : Value(target_seconds));
    return s ? std::optional(s->mean) : std::nullopt;
  };
  for (Row& row : rows) {
    const auto base = time(first_of(row));
    const auto own = time(row);
    row.speed_up = base && own && *own > 0 ? std::optional(*base / *own) : std::nullopt;
  }
}

const Row& Comparison::first_of(const Row& row) const {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.workers == row.workers; });
}

bool Comparison::good() const { return std::all_of(rows.begin(), rows.end(), all_finished); }

bool Comparison::complete() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.count(RunStatus::kMissing) == 0; });
}

void Comparison::print() const { fmt::print("{}", table_of(*this, columns_of(STDOUT_FILENO))); }

void Comparison::print_json() const { fmt::print("{}\n", json_text(to_json(*this))); }

void Comparison::write(const fs::path& file) const { write_account(file, to_json(*this)); }

EarlierRuns::EarlierRuns(const fs::path& file) : file_(file) {
  std::ifstream in(file);
  if (!in) return;
  try {
    const Json json = Json::parse(in);
    for (const Json& row : json.at("rows"))
      for (const Json& run : row.at("runs"))
        if (run.contains("trace_hash"))
          runs_.push_back({identity_from(run.at("identity")), run.at("trace_hash"), run.at("weights_hash")});
  } catch (const nlohmann::json::exception&) {
    runs_.clear();
    foreign_ = true;
  }
}

void EarlierRuns::refuse_to_lose(const std::vector<Identity>& kept) const {
  const auto lost = std::count_if(runs_.begin(), runs_.end(), [&](const Run& run) {
    return std::find(kept.begin(), kept.end(), run.identity) == kept.end();
  });
  if (lost == 0 && !foreign_) return;
  const std::string what = foreign_
                               ? "is no comparison of this version"
                               : fmt::format(
                                     "has {} run{} that this comparison has not, of other options, data, "
                                     "cluster or another program",
                                     lost, lost == 1 ? "" : "s");
  throw InvalidConfig(fmt::format("{} {}; give --overwrite, or --out another folder", file_.string(), what));
}

std::optional<Outcome> EarlierRuns::find(const Identity& identity, std::uint64_t seed,
                                         const fs::path& out) const {
  const auto same =
      std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.identity == identity; });
  if (same == runs_.end() || !fs::exists(out / "run.jsonl")) return std::nullopt;
  try {
    Outcome o = read_outcome(seed, out);
    if (!o.has_numbers() || o.trace_hash != same->trace_hash || o.weights_hash != same->weights_hash)
      return std::nullopt;  // another run's
    o.picked_up = true;
    o.identity = identity;
    return o;
  } catch (const InvalidConfig&) {
    return std::nullopt;  // no run log any more
  }
}

}  // namespace tacit::cli
