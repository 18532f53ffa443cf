// SPDX-License-Identifier: MIT
#include "tacit/strategy/registry.h"

#include <utility>

#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit {

StrategyRegistry::StrategyRegistry(std::span<const StrategyInfo> infos) {
  for (const StrategyInfo& info : infos) add(info);
}

void StrategyRegistry::add(StrategyInfo info) {
  if (find(info.name) != nullptr)
    throw InvalidConfig("a strategy named '" + info.name + "' exists already; choose another name");
  infos_.push_back(std::move(info));
}

std::vector<std::string> StrategyRegistry::names() const {
  std::vector<std::string> names;
  for (const StrategyInfo& info : infos_) names.push_back(info.name);
  return names;
}

const StrategyInfo* StrategyRegistry::find(std::string_view name) const {
  for (const StrategyInfo& info : infos_)
    if (canonical(info.name) == canonical(name)) return &info;
  return nullptr;
}

std::unique_ptr<Strategy> StrategyRegistry::make(std::string_view text, int ranks) const {
  const Spec spec = Spec::parse(text);
  const StrategyInfo* info = find(spec.name);
  if (info == nullptr) throw InvalidConfig(unknown_name("strategy", spec.name, names()));
  OptionReader options(spec);
  std::unique_ptr<Strategy> strategy = info->make(options, ranks);
  options.finish();
  return strategy;
}

}  // namespace tacit
