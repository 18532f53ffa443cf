// SPDX-License-Identifier: MIT
// tacit list: what can be named in the other commands.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "tacit/compress/compression.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/dataset.h"
#include "tacit/train/optimizer.h"
#include "tacit/train/schedule.h"

namespace tacit::cli {
namespace {

struct Entry {
  std::string name;
  std::string summary;
  std::string paper;
};

template <class Info>
std::vector<Entry> rows_of(const Registry<Info>& registry) {
  std::vector<Entry> rows;
  for (const Info& i : registry.all()) rows.push_back({i.name, i.summary, i.paper});
  return rows;
}

std::vector<Entry> rows_named(const std::string& what) {
  if (what == "strategies") return rows_of(builtin_strategies());
  if (what == "compressors") return rows_of(builtin_compressors());
  if (what == "models") return rows_of(all_models(1));
  if (what == "datasets") return rows_of(builtin_datasets());
  if (what == "optimizers") return rows_of(builtin_optimizers());
  if (what == "schedules") return rows_of(builtin_schedules());
  const std::vector<std::string> known{"strategies", "compressors", "models",
                                       "datasets",   "optimizers",  "schedules"};
  throw InvalidConfig(unknown_name("list", what, known));
}

// A compressor alone, with ef and with dgc, where it takes them.
std::vector<Compression> forms_of(const std::string& name) {
  std::vector<Compression> forms{Compression::parse(name)};
  const Traits traits = forms[0].maker.traits;
  if (traits.contracts && name != "identity") forms.push_back(Compression::parse(name + ",ef"));
  if (traits.sparse) forms.push_back(Compression::parse(name + ",dgc"));
  return forms;
}

std::string form_name(const Compression& form) {
  return form.memory == Memory::kNone ? "plain" : form.memory == Memory::kMomentum ? "dgc" : "ef";
}

// One row per compressor, one column per strategy, the forms that the strategy takes in each cell.
int run_legal(bool json) {
  auto out = nlohmann::ordered_json::array();
  std::vector<std::string> reasons;
  if (!json) {
    fmt::print("{:<12}", "compressor");
    for (const StrategyInfo& s : builtin_strategies().all()) fmt::print("{:<16}", s.name);
    fmt::print("\n");
  }
  for (const std::string& name : builtin_compressors().names()) {
    if (!json) fmt::print("{:<12}", name);
    for (const StrategyInfo& s : builtin_strategies().all()) {
      std::string cell;
      for (const Compression& form : forms_of(name)) {
        const std::string reason = why_not(s, form);
        if (reason.empty()) cell += (cell.empty() ? "" : " ") + form_name(form);
        const bool known = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
        if (!reason.empty() && !known) reasons.push_back(reason);
        out.push_back(
            {{"strategy", s.name}, {"compressor", form.text}, {"legal", reason.empty()}, {"reason", reason}});
      }
      if (!json) fmt::print("{:<16}", cell.empty() ? "-" : cell);
    }
    if (!json) fmt::print("\n");
  }
  if (json) fmt::print("{}\n", out.dump(2));
  for (const std::string& reason : reasons)
    if (!json) fmt::print("\n{}", reason);
  if (!json && !reasons.empty()) fmt::print("\n");
  return 0;
}

int run(const std::string& what, bool json) {
  const std::vector<Entry> rows = rows_named(what);
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const Entry& r : rows) out.push_back({{"name", r.name}, {"summary", r.summary}, {"paper", r.paper}});
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  std::size_t name_width = 0;
  std::size_t summary_width = 0;
  for (const Entry& r : rows) {
    name_width = std::max(name_width, r.name.size());
    summary_width = std::max(summary_width, r.summary.size());
  }
  for (const Entry& r : rows)
    fmt::print("{:<{}}  {:<{}}  {}\n", r.name, name_width, r.summary, summary_width, r.paper);
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto* list = app.add_subcommand("list", "Say what can be named in the other commands, with the papers");
  list->footer("Example:\n  tacit list strategies");
  auto what = std::make_shared<std::string>("strategies");
  auto json = std::make_shared<bool>(false);
  list->add_option("what", *what,
                   "strategies (if not said), compressors, models, datasets, optimizers or schedules");
  auto legal = std::make_shared<bool>(false);
  list->add_flag("--legal", *legal, "Print which strategy takes which compressor, and why not");
  list->add_flag("--json", *json, "Print JSON");
  list->callback([=, &action] { action = [=] { return *legal ? run_legal(*json) : run(*what, *json); }; });
}

}  // namespace tacit::cli
