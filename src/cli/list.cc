// SPDX-License-Identifier: MIT
// tacit list: what can be named in the other commands.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/dataset.h"
#include "tacit/train/optimizer.h"
#include "tacit/train/schedule.h"

namespace tacit::cli {
namespace {

struct Row {
  std::string name;
  std::string summary;
  std::string source;
};

const std::vector<std::string> kLists{"strategies", "models", "datasets", "optimizers", "schedules"};

std::vector<Row> rows_of(const std::string& what) {
  std::vector<Row> rows;
  const ModelRegistry models = all_models(1);
  if (what == kLists[0])
    for (const auto& i : builtin_strategies().all()) rows.push_back({i.name, i.summary, i.paper});
  else if (what == kLists[1])
    for (const auto& i : models.all()) rows.push_back({i.name, i.summary, i.paper});
  else if (what == kLists[2])
    for (const auto& i : builtin_datasets().all()) rows.push_back({i.name, i.summary, i.source});
  else if (what == kLists[3])
    for (const auto& i : builtin_optimizers().all()) rows.push_back({i.name, i.summary, i.paper});
  else if (what == kLists[4])
    for (const auto& i : builtin_schedules().all()) rows.push_back({i.name, i.summary, i.paper});
  else
    throw InvalidConfig(unknown_name("list", what, kLists));
  return rows;
}

int run(const std::string& what, bool json) {
  const std::vector<Row> rows = rows_of(what);
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const Row& r : rows) out.push_back({{"name", r.name}, {"summary", r.summary}, {"paper", r.source}});
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  std::size_t name_width = 0;
  std::size_t summary_width = 0;
  for (const Row& r : rows) {
    name_width = std::max(name_width, r.name.size());
    summary_width = std::max(summary_width, r.summary.size());
  }
  for (const Row& r : rows)
    fmt::print("{:<{}}  {:<{}}  {}\n", r.name, name_width, r.summary, summary_width, r.source);
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto* list = app.add_subcommand("list", "Say what can be named in the other commands, with the papers");
  list->footer("Example:\n  tacit list strategies");
  auto what = std::make_shared<std::string>("strategies");
  auto json = std::make_shared<bool>(false);
  list->add_option("what", *what, "strategies (if not said), models, datasets, optimizers or schedules");
  list->add_flag("--json", *json, "Print JSON");
  list->callback([=, &action] { action = [=] { return run(*what, *json); }; });
}

}  // namespace tacit::cli
