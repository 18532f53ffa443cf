// SPDX-License-Identifier: MIT
#include "cli/tuning_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/comparison_json.h"
#include "cli/comparison_table.h"
#include "cli/text_table.h"

namespace tacit::cli {
namespace {

std::string rate_text(const Choice& c, const std::optional<std::size_t>& place) {
  return place ? fmt::format("{}", c.rates[*place]) : "-";
}

// "0.16 or more" where no larger one was tried.
std::string stable_text(const Choice& c) {
  const bool open = c.stable && *c.stable + 1 == c.rates.size();
  return rate_text(c, c.stable) + (open ? " or more" : "");
}

bool any_missing(const Choice& c) {
  return std::any_of(c.rows.begin(), c.rows.end(),
                     [](const Row& r) { return r.count(RunStatus::kMissing) > 0; });
}

std::string sureness(const Choice& c) {
  if (any_missing(c)) return "unknown";
  if (!c.runner_up) return "-";
  const auto chance = c.lead ? c.lead->may_be_chance() : std::nullopt;
  if (!chance) return "unknown";
  return *chance ? "not sure" : "sure";
}

Cells choice_cells(const Choice& c) {
  if (!c.best) return {c.name, "none"};
  const auto sample = sample_of(c.rows[*c.best], accuracy);
  return {c.name,
          rate_text(c, c.best),
          accuracy_text(sample),
          std::to_string(sample->n),
          rate_text(c, c.runner_up),
          points_text(c.lead),
          interval_text(c.lead),
          sureness(c),
          stable_text(c)};
}

// What keeps a choice from being an answer.
std::vector<std::string> warnings_on(const Choice& c) {
  std::vector<std::string> lines;
  if (!c.best)
    lines.push_back(
        c.name + (c.at_low_end
                      ? ": at every rate of the grid a run diverged; give lower --rates, or a larger --extend"
                      : ": no rate has a whole result"));
  else if (c.at_low_end || c.at_high_end)
    lines.push_back(fmt::format(
        "{}: the grid ends at its best, {}, and a better one may lie beyond; give {} --rates, or a "
        "larger --extend",
        c.name, c.rates[*c.best], c.at_high_end ? "larger" : "lower"));
  for (const Row& row : c.rows) {
    const auto failed = bad_runs(row, RunStatus::kFailed, false);
    lines.insert(lines.end(), failed.begin(), failed.end());
    if (const std::string missing = missing_runs(row, false); !missing.empty()) lines.push_back(missing);
  }
  return lines;
}

// "84.01", of the best "84.01*".
std::string grid_cell(const Choice& c, double rate) {
  const auto at = std::find(c.rates.begin(), c.rates.end(), rate);
  if (at == c.rates.end()) return "-";
  const auto place = static_cast<std::size_t>(at - c.rates.begin());
  const Row& row = c.rows[place];
  if (row.count(RunStatus::kMissing) > 0) return "missing";
  if (row.count(RunStatus::kFailed) > 0) return "failed";
  const std::size_t diverged = row.count(RunStatus::kDiverged);
  if (diverged == row.outcomes.size()) return "diverged";
  if (diverged > 0) return fmt::format("{} diverged", diverged);
  const auto sample = sample_of(row, accuracy);
  return sample ? fmt::format("{:.2f}{}", 100 * sample->mean, c.best == place ? "*" : "") : "-";
}

std::string whole_grid(const Tuning& t, std::size_t columns) {
  std::set<double> rates;
  for (const Choice& c : t.choices) rates.insert(c.rates.begin(), c.rates.end());
  std::vector<Cells> lines{{"strategy"}};
  for (const double rate : rates) lines[0].push_back(fmt::format("{}", rate));
  for (const Choice& c : t.choices) {
    lines.push_back({c.name});
    for (const double rate : rates) lines.back().push_back(grid_cell(c, rate));
  }
  return table_text(lines, {}, columns);
}

nlohmann::ordered_json choice_json(const Choice& c) {
  const auto rate = [&](const std::optional<std::size_t>& place) {
    return optional_json(place ? std::optional(c.rates[*place]) : std::nullopt);
  };
  const auto sample = c.best ? sample_of(c.rows[*c.best], accuracy) : std::nullopt;
  return {{"strategy", c.name},
          {"rates", c.rates},
          {"rate", rate(c.best)},
          {"accuracy", optional_json(sample ? std::optional(sample->mean) : std::nullopt)},
          {"accuracy_deviation", optional_json(sample ? sample->deviation : std::nullopt)},
          {"accuracy_n", sample ? sample->n : 0},
          {"runner_up", rate(c.runner_up)},
          {"lead", to_json(c.lead)},
          {"how_sure", sureness(c)},
          {"largest_stable", rate(c.stable)},
          {"at_low_end", c.at_low_end},
          {"at_high_end", c.at_high_end}};
}

// Between quotes, for TOML.
std::string toml_text(const std::string& text) {
  std::string out = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') out += '\\';
    out += each;
  }
  return out + "\"";
}

std::string toml_run(const Contender& contender, const Choice& c) {
  std::string text = fmt::format("\n[[run]]\nstrategy = {}\n", toml_text(contender.strategy));
  if (contender.name != contender.strategy) text += fmt::format("name = {}\n", toml_text(contender.name));
  if (!contender.compress.empty()) text += fmt::format("compress = {}\n", toml_text(contender.compress));
  if (!contender.optimizer.empty()) text += fmt::format("optimizer = {}\n", toml_text(contender.optimizer));
  if (!contender.shards.empty()) text += fmt::format("shards = {}\n", toml_text(contender.shards));
  const std::string sure = sureness(c);
  std::string remark;
  if (!c.best)
    remark = "  # no rate of the grid has a whole result; this is the lowest of them";
  else if (sure == "not sure")
    remark = fmt::format("  # not sure: what it is ahead of {} may be chance", rate_text(c, c.runner_up));
  return text + fmt::format("lr = {}{}\n", c.rates[c.best.value_or(0)], remark);
}

}  // namespace

std::string tuning_table(const Tuning& t, std::size_t columns) {
  std::vector<Cells> lines{
      {"strategy", "rate", "held-out", "n", "runner-up", "lead", "95 % interval", "how sure", "stable to"}};
  for (const Choice& c : t.choices) lines.push_back(choice_cells(c));
  std::string text = table_text(lines, {1, {1, 2, 7, 4, 5, 6, 3, 8}}, columns);
  const auto note = [&](const std::string& line) { text += wrapped(line, columns, kNoteIndent) + "\n"; };
  for (const Choice& c : t.choices)
    for (const std::string& line : warnings_on(c)) note(line);
  note(fmt::format(
      "Accuracy on data held out from training ({}), seed{} {}; ± is the sample standard deviation. The lead "
      "over the runner-up is in points, seed by seed.",
      t.data, t.seeds.size() == 1 ? "" : "s", fmt::join(t.seeds, ", ")));
  if (t.seeds.size() == 1) note("One seed does not say how sure a choice is; give --seeds several.");
  text += "\n";
  note("All rates, mean accuracy in % (* the best):");
  return text + whole_grid(t, columns);
}

nlohmann::ordered_json tuning_json(const Tuning& t, const Comparison& comparison) {
  auto chosen = nlohmann::ordered_json::array();
  for (const Choice& c : t.choices) chosen.push_back(choice_json(c));
  nlohmann::ordered_json json{
      {"data", t.data}, {"seeds", t.seeds}, {"margin", t.margin}, {"chosen", std::move(chosen)}};
  json.update(to_json(comparison));
  for (auto& row : json["rows"])
    row.erase("accuracy_difference");  // from the first rate of all: it says nothing
  return json;
}

std::string tuned_toml(const Experiment& result, const std::string& cluster, const Tuning& t) {
  const TrainSettings& s = result.base.training;
  std::string text = fmt::format(
      "# Learning rates that tacit tune chose on {} with seeds {}; tune.json says how sure it is of "
      "each.\n",
      t.data, fmt::join(t.seeds, ", "));
  text += fmt::format("title = {}\ncluster = {}\n", toml_text(result.title), toml_text(cluster));
  if (result.base.workers) text += fmt::format("workers = {}\n", *result.base.workers);
  text += fmt::format("model = {}\ndata = {}\n", toml_text(s.model), toml_text(s.data));
  if (s.train.shards != TrainOptions{}.shards)
    text += fmt::format("shards = {}\n", toml_text(s.train.shards));
  text += s.train.steps > 0 ? fmt::format("steps = {}\n", s.train.steps)
                            : fmt::format("epochs = {}\n", s.train.epochs);
  text += fmt::format("batch = {}\nschedule = {}\noptimizer = {}\n", s.train.batch,
                      toml_text(s.train.schedule), toml_text(s.train.optimizer));
  if (s.train.evaluate_every > 0) text += fmt::format("evaluate_every = {}\n", s.train.evaluate_every);
  if (s.train.target) text += fmt::format("target = {}\n", *s.train.target);
  text += fmt::format("seeds = [{}]\n", fmt::join(result.seeds, ", "));
  for (std::size_t i = 0; i < t.choices.size(); ++i) text += toml_run(result.contenders[i], t.choices[i]);
  return text;
}

}  // namespace tacit::cli
