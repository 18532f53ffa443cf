// SPDX-License-Identifier: MIT
// What `tacit list` tells of everything that has a name is true: examples are accepted, options have a meaning, and
// the pages of strategies name the options that there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tacit/compress/compression.h"
#include "tacit/strategies/builtin.h"
#include "tacit/train/dataset.h"
#include "tacit/train/model.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace tacit {
namespace {

constexpr int kRanks = 8;

template <class Info, class Build>
void expect_true(const Registry<Info>& registry, const Build& build) {
  for (const Info& info : registry.all()) {
    EXPECT_EQ(canonical(Spec::parse(info.example).name), canonical(info.name));
    EXPECT_NO_THROW(registry.make(info.example, [&](const Info& i, OptionReader& o) {
      build(i, o);
      return 0;
    })) << info.example;
    for (const OptionInfo& option : registry.options_of(info, build))
      EXPECT_FALSE(option.meaning.empty()) << info.name << ": " << option.key;
  }
}

TEST(NamedThings, ExamplesAreAcceptedAndOptionsHaveAMeaning) {
  expect_true(builtin_strategies(), [](const StrategyInfo& s, OptionReader& o) { s.make(o, kRanks); });
  expect_true(builtin_optimizers(), [](const OptimizerInfo& i, OptionReader& o) { i.make(o); });
  expect_true(builtin_schedules(), [](const ScheduleInfo& i, OptionReader& o) { i.make(o); });
  expect_true(builtin_datasets(), [](const DatasetInfo& i, OptionReader& o) { i.prepare(o); });
  const ModelContext context{{1, 8, 8}, 4, 1};
  expect_true(builtin_models(), [&](const ModelInfo& i, OptionReader& o) { i.make(o, context); });
}

TEST(NamedThings, CompressorsToo) {
  for (const CompressorInfo& info : builtin_compressors().all()) {
    EXPECT_EQ(Compression::parse(info.example).name, info.name);
    for (const OptionInfo& option : Compression::options_of(info))
      EXPECT_FALSE(option.meaning.empty()) << info.name << ": " << option.key;
  }
}

// The first column of the table under "## Options".
std::vector<std::string> options_on_page(const std::string& name) {
  std::ifstream page(TACIT_DOCS "/strategies/" + name + ".md");
  std::vector<std::string> keys;
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) here = line == "## Options";
    if (!keys.empty() && !line.starts_with("|")) break;  // the end of the table
    if (here && line.starts_with("| `")) keys.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

TEST(NamedThings, ThePageOfAStrategyHasItsOptions) {
  for (const StrategyInfo& info : builtin_strategies().all()) {
    std::vector<std::string> asked;
    for (const OptionInfo& option : builtin_strategies().options_of(
             info, [](const StrategyInfo&s, OptionReader&o) { s.make(o, kRanks); }))
      asked.push_back(option.key);
    std::vector<std::string> written = options_on_page(info.name);
    std::sort(asked.begin(), asked.end());
    std::sort(written.begin(), written.end());
    EXPECT_EQ(asked, written) << info.name;
  }
}

}  // namespace
}  // namespace tacit
