// SPDX-License-Identifier: MIT
// One account of a run from those of its ranks.
#include <algorithm>

#include "core/hash.h"
#include "tacit/train/trainer.h"

namespace tacit {

bool all_equal(std::span<const RankReport> reports) {
  return std::all_of(reports.begin(), reports.end(),
                     [&](const RankReport& r) { return r.weights_hash == reports[0].weights_hash; });
}

namespace {

// The mean over ranks of what they did with their time, where the world knows.
void add_times(std::span<const RankReport> reports, Summary& s) {
  RankTimes all;
  for (const RankReport& r : reports) {
    if (!r.spent) return s.ranks.clear();
    const RankTimes& one = s.ranks.emplace_back(times_of(r));
    all.compute += one.compute;
    all.communicate += one.communicate;
    all.wait += one.wait;
  }
  const auto ranks = static_cast<double>(reports.size());
  s.compute_seconds = all.compute / ranks;
  s.communicate_seconds = all.communicate / ranks;
  s.wait_seconds = all.wait / ranks;
}

}  // namespace

RankTimes times_of(const RankReport& report) {
  const TimeSpent spent = report.spent.value_or(TimeSpent{});
  return {report.rank, spent.compute, spent.communicate,
          std::max(0.0, report.seconds - spent.compute - spent.communicate), report.sent.wire()};
}

Summary summarize(const TrainOptions& options, std::span<const RankReport> reports,
                  const std::string& status) {
  Summary s;
  s.status = status;
  s.strategy = options.strategy;
  s.compress = options.compress;
  s.shards = options.shards;
  s.workers = static_cast<int>(reports.size());
  s.lost = reports[0].lost;
  s.seed = options.seed;
  s.steps = reports[0].steps;
  double losses = 0;
  bool all_logged = true;
  for (const RankReport& r : reports) {
    s.steps = std::min(s.steps, r.steps);
    s.samples += r.steps * options.batch;
    s.seconds = std::max(s.seconds, r.seconds);
    s.bytes_payload += r.sent.payload;
    s.bytes_wire += r.sent.wire();
    s.messages += r.sent.messages;
    losses += r.recent_loss.value_or(0);
    all_logged = all_logged && r.recent_loss.has_value();
  }
  add_times(reports, s);
  if (all_logged) s.loss = losses / static_cast<double>(reports.size());
  if (s.seconds > 0) s.samples_per_second = static_cast<double>(s.samples) / s.seconds;
  if (const auto& e = reports[0].evaluation) {
    s.test_loss = e->loss;
    s.accuracy = e->accuracy;
  }
  if (reports[0].weights_hash != 0) s.weights_hash = hash_text(reports[0].weights_hash);
  return s;
}

}  // namespace tacit
