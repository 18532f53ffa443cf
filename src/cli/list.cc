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
  std::string paper;
};

template <class Info>
std::vector<Row> rows_of(const Registry<Info>& registry) {
  std::vector<Row> rows;
  for (const Info& i : registry.all()) rows.push_back({i.name, i.summary, i.paper});
  return rows;
}

std::vector<Row> rows_named(const std::string& what) {
  if (what == "strategies") return rows_of(builtin_strategies());
  if (what == "models") return rows_of(all_models(1));
  if (what == "datasets") return rows_of(builtin_datasets());
  if (what == "optimizers") return rows_of(builtin_optimizers());
  if (what == "schedules") return rows_of(builtin_schedules());
  const std::vector<std::string> known{"strategies", "models", "datasets", "optimizers", "schedules"};
  throw InvalidConfig(unknown_name("list", what, known));
}

int run(const std::string& what, bool json) {
  const std::vector<Row> rows = rows_named(what);
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const Row& r : rows) out.push_back({{"name", r.name}, {"summary", r.summary}, {"paper", r.paper}});
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
    fmt::print("{:<{}}  {:<{}}  {}\n", r.name, name_width, r.summary, summary_width, r.paper);
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
