// SPDX-License-Identifier: MIT
// Every registered strategy, with its default options, as its example has it, and compressed where it takes a compressor;
// in every world. A new strategy is among them by being registered.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "support/strategy_worlds.h"
#include "tacit/core/error.h"
#include "tacit/strategies/builtin.h"

namespace tacit::test {

constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 8};
constexpr const char* kCompressor = "topk:ratio=0.25,ef,min=0";

struct StrategyForm {
  std::string strategy;
  std::string compress;

  const StrategyInfo& info() const { return builtin_strategies().find(strategy); }
  // An example may want more ranks than there are.
  bool fits(int ranks) const {
    try {
      make_strategy(builtin_strategies(), strategy, ranks, compress);
      return true;
    } catch (const InvalidConfig&) {
      return false;
    }
  }
};

inline std::vector<StrategyForm> all_forms() {
  std::vector<StrategyForm> all;
  for (const StrategyInfo& info : builtin_strategies().all()) {
    all.push_back({info.name, ""});
    if (info.example != info.name) all.push_back({info.example, ""});
    if (why_not(info, Compression::parse(kCompressor)).empty()) all.push_back({info.name, kCompressor});
  }
  return all;
}

struct FormInWorld {
  StrategyForm form;
  std::string world;

  bool deterministic() const { return strategy_world(world).virtual_time || !form.info().asynchronous; }
  friend std::ostream& operator<<(std::ostream& out, const FormInWorld& it) {
    return out << it.form.strategy << " " << it.form.compress << " on " << it.world;
  }
};

inline std::vector<FormInWorld> everywhere(const std::vector<StrategyForm>& forms) {
  std::vector<FormInWorld> all;
  for (const StrategyForm& form : forms)
    for (const StrategyWorld& world : strategy_worlds()) all.push_back({form, world.name});
  return all;
}
inline std::vector<FormInWorld> in_one(const std::string& world, const std::vector<StrategyForm>& forms) {
  std::vector<FormInWorld> all;
  for (const StrategyForm& form : forms) all.push_back({form, world});
  return all;
}

// Those of which the same seed gives the same bits.
inline std::vector<FormInWorld> deterministic(std::vector<FormInWorld> all) {
  std::erase_if(all, [](const FormInWorld& each) { return !each.deterministic(); });
  return all;
}

inline std::string test_name(const ::testing::TestParamInfo<FormInWorld>& each) {
  std::string name = each.param.form.strategy + (each.param.form.compress.empty() ? "" : "_compressed") +
                     "_on_" + each.param.world;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class StrategyInWorld : public ::testing::TestWithParam<FormInWorld> {
 protected:
  void SetUp() override {
    if (!world().built()) GTEST_SKIP() << "built without it";
  }
  const StrategyForm& form() const { return GetParam().form; }
  const StrategyWorld& world() const { return strategy_world(GetParam().world); }
  // Nothing where it does not fit so many ranks.
  void open(int ranks, Pace pace, const std::function<void(const OpenWorld&)>& test) const {
    ask(ranks, pace, [&](const OpenWorld& world) {
      test(world);
      return "";
    });
  }
  std::string ask(int ranks, Pace pace, const std::function<std::string(const OpenWorld&)>& test) const {
    return form().fits(ranks) ? world().open(ranks, pace, test) : "";
  }
};

}  // namespace tacit::test
