// SPDX-License-Identifier: MIT
// tacit list: what can be named in the other commands, and what each of it can be told.
#include "cli/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/commands.h"
#include "cli/layout.h"
#include "cli/places.h"
#include "cli/terminal.h"
#include "tacit/compress/compression.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/dataset.h"
#include "train/data/shards.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

// One thing that has a name.
struct Entry {
  std::string name;
  std::string summary;
  std::string paper;    // or where it lies
  std::string example;  // words of a command line
  std::function<std::vector<OptionInfo>()> options;
};
using Entries = std::vector<Entry>;

// The text behind its heading, on lines of at most so many columns.
std::string hung(const std::string& heading, const std::string& text, std::size_t columns) {
  return wrapped(heading + text, columns, heading.size()) + "\n";
}

// What a strategy is told of its world and a model of its data, to see which options they ask for.
constexpr int kSomeRanks = 8;
const ModelContext kSomeData{{1, 28, 28}, 10, 1};

template <class Info, class Build>
Entries entries_of(const Registry<Info>& registry, const std::string& option, const Build& build) {
  Entries entries;
  for (const Info& i : registry.all())
    entries.push_back({i.name, i.summary, i.paper, option + " " + i.example,
                       [registry, i, build] { return registry.options_of(i, build); }});
  return entries;
}

// The remark at the head of a TOML file.
std::string remark_of(const fs::path& file) {
  std::ifstream in(file);
  std::string text;
  for (std::string line; std::getline(in, line) && line.starts_with("#");)
    text += (text.empty() ? "" : " ") + line.substr(std::min<std::size_t>(2, line.size()));
  return shown(text);
}

Entries entries_of(const Shelf& shelf, const std::string& command) {
  Entries entries;
  for (const fs::path& file : files_on(shelf)) {
    const std::string name = file.stem().string();
    entries.push_back({name, remark_of(file), file.lexically_normal().string(), command + " " + name,
                       [] { return std::vector<OptionInfo>{}; }});
  }
  return entries;
}

struct Kind {
  std::string name;
  std::function<Entries()> entries;
};

const std::vector<Kind>& kinds() {
  static const auto reads = [](const auto& info, OptionReader& options) { info.make(options); };
  static const std::vector<Kind> all{
      {"strategies",
       [] {
         return entries_of(builtin_strategies(), "tacit train --strategy",
                           [](const StrategyInfo& s, OptionReader& o) { make_strategy(s, o, kSomeRanks); });
       }},
      {"compressors",
       [] {
         Entries entries;
         for (const CompressorInfo& c : builtin_compressors().all())
           entries.push_back({c.name, c.summary, c.paper, "tacit train --compress " + c.example,
                              [c] { return Compression::options_of(c); }});
         return entries;
       }},
      {"models",
       [] {
         return entries_of(all_models(1), "tacit train --model",
                           [](const ModelInfo& m, OptionReader& o) { m.make(o, kSomeData); });
       }},
      {"datasets",
       [] {
         return entries_of(builtin_datasets(), "tacit train --data",
                           [](const DatasetInfo& d, OptionReader& o) { d.prepare(o); });
       }},
      {"shards",
       [] {
         Entries entries;
         for (const ShardingInfo& i : builtin_shardings().all())
           entries.push_back(
               {i.name, i.summary, i.paper, "tacit train --shards " + i.example, [i] { return i.options; }});
         return entries;
       }},
      {"optimizers", [] { return entries_of(builtin_optimizers(), "tacit train --optimizer", reads); }},
      {"schedules", [] { return entries_of(builtin_schedules(), "tacit train --schedule", reads); }},
      {"clusters", [] { return entries_of(kClusters, "tacit simulate --cluster"); }},
      {"experiments", [] { return entries_of(kExperiments, "tacit compare --experiment"); }}};
  return all;
}

Entries entries_named(const std::string& what) {
  for (const Kind& each : kinds())
    if (each.name == what) return each.entries();
  throw InvalidConfig(unknown_name("list", what, kinds_of_names()));
}

// Files, which lie somewhere and have no options.
bool is_shelf(const std::string& what) { return what == kClusters.folder || what == kExperiments.folder; }

nlohmann::ordered_json json_of(const Entry& e) {
  return {{"name", e.name}, {"summary", e.summary}, {"paper", e.paper}, {"example", e.example}};
}

int print_all(const std::string& what, bool json) {
  const Entries entries = entries_named(what);
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const Entry& e : entries) out.push_back(json_of(e));
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  std::size_t name_width = 0;
  for (const Entry& e : entries) name_width = std::max(name_width, e.name.size());
  const std::size_t width = page_columns();
  for (const Entry& e : entries) {
    fmt::print("{}", hung(fmt::format("{:<{}}  ", e.name, name_width), e.summary, width));
    if (!e.paper.empty() && !is_shelf(what))
      fmt::print("{}", hung(std::string(name_width + 2, ' '), e.paper, width));
  }
  if (!entries.empty()) fmt::print("\n{}", hung("", "tacit list " + what + " NAME says more of one.", width));
  return 0;
}

void print_options(const std::vector<OptionInfo>& options, std::size_t width) {
  fmt::print("\n{}\n", options.empty() ? "It has no options." : "Options:");
  std::size_t key_width = 0;
  for (const OptionInfo& o : options) key_width = std::max(key_width, o.key.size());
  for (const OptionInfo& o : options) {
    const std::string range = o.range.empty() ? "" : "; " + o.range;
    const std::string text =
        fmt::format("{} (default: {}{})", o.meaning, o.fallback.empty() ? "none" : o.fallback, range);
    fmt::print("{}", hung(fmt::format("  {:<{}}  ", o.key, key_width), text, width));
  }
}

int print_one(const std::string& what, const std::string& name, bool json) {
  const Entries entries = entries_named(what);
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& e) { return canonical(e.name) == canonical(name); });
  if (found == entries.end()) throw InvalidConfig(unknown_name("name in " + what, name, names_of_kind(what)));
  const std::vector<OptionInfo> options = found->options();
  if (json) {
    auto out = json_of(*found);
    out["options"] = nlohmann::ordered_json::array();
    for (const OptionInfo& o : options)
      out["options"].push_back(
          {{"key", o.key}, {"default", o.fallback}, {"range", o.range}, {"meaning", o.meaning}});
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  const std::size_t width = page_columns();
  fmt::print("{}", hung(found->name + ": ", found->summary, width));
  if (!found->paper.empty()) fmt::print("{}", hung("", found->paper, width));
  if (!is_shelf(what)) print_options(options, width);
  fmt::print("\nExample:\n  {}\n", found->example);
  return 0;
}

}  // namespace

const std::vector<std::string>& kinds_of_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& each : kinds()) all.push_back(each.name);
    return all;
  }();
  return names;
}

std::vector<std::string> names_of_kind(const std::string& kind) {
  std::vector<std::string> names;
  for (const Entry& e : entries_named(kind)) names.push_back(e.name);
  return names;
}

void add_list(CLI::App& app, Action& action) {
  auto* list =
      app.add_subcommand("list", "Say what can be named in the other commands, and what each can be told");
  list->footer("Example:\n  tacit list strategies\n  tacit list strategies local");
  auto what = std::make_shared<std::string>("strategies");
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  list->add_option(
      "what", *what,
      "strategies (if not said), compressors, models, datasets, shards, optimizers, schedules, clusters or "
      "experiments");
  list->add_option("name", *name, "One of them: every option with its default, its bounds and its meaning");
  auto legal = std::make_shared<bool>(false);
  list->add_flag("--legal", *legal, "Print which strategy takes which compressor, and why not");
  list->add_flag("--json", *json, "Print JSON");
  list->callback([=, &action] {
    action = [=] {
      if (*legal) return print_legal(*json);
      return name->empty() ? print_all(*what, *json) : print_one(*what, *name, *json);
    };
  });
}

}  // namespace tacit::cli
