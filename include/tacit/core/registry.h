// SPDX-License-Identifier: MIT
// Things by name: strategies, models, data sets, optimisers, schedules. A registry is a value: programs copy
// the built-in one and add their own.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/options.h"
#include "tacit/core/text.h"

namespace tacit {

// Info has a `name`, a `summary`, a `paper` and an `example`. `kind` is what messages call one entry.
template <class Info>
class Registry {
 public:
  explicit Registry(std::string kind, std::initializer_list<Info> infos = {}) : kind_(std::move(kind)) {
    for (const Info& info : infos) add(info);
  }

  // Throws InvalidConfig where the name is taken.
  void add(Info info) {
    if (look_up(info.name) != nullptr)
      throw InvalidConfig("a " + kind_ + " named '" + info.name + "' exists already; choose another name");
    infos_.push_back(std::move(info));
  }

  std::span<const Info> all() const { return infos_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Info& info : infos_) names.push_back(info.name);
    return names;
  }

  // Parses `name:key=value,...`, finds the entry, lets build(info, options) read its options, and refuses
  // those it did not ask for. Throws InvalidConfig, with the nearest known name for an unknown one.
  template <class Build>
  auto make(std::string_view text, const Build& build) const {
    OptionReader options(Spec::parse(text));
    auto made = build(find(text), options);
    options.finish();
    return made;
  }

  // What the entry's options are, if nothing is said about them: build() as for make().
  template <class Build>
  std::vector<OptionInfo> options_of(const Info& info, const Build& build) const {
    OptionReader options(Spec::parse(info.name));
    build(info, options);
    return {options.asked().begin(), options.asked().end()};
  }

  // The entry that `name:key=value,...` names. Throws InvalidConfig as make().
  const Info& find(std::string_view text) const {
    const Info* info = look_up(Spec::parse(text).name);
    if (info == nullptr) refuse(text);
    return *info;
  }

 private:
  const Info* look_up(std::string_view name) const {
    for (const Info& info : infos_)
      if (canonical(info.name) == canonical(name)) return &info;
    return nullptr;
  }

  [[noreturn]] void refuse(std::string_view text) const {
    const auto end = text.find_first_of(", =");  // local,period=4
    if (end != std::string_view::npos && look_up(text.substr(0, end)) != nullptr)
      throw InvalidConfig("'" + std::string(text) + "': options follow a colon; write " +
                          std::string(text.substr(0, end)) + ":" + std::string(text.substr(end + 1)));
    throw InvalidConfig(unknown_name(kind_, text.substr(0, text.find(':')), names()));
  }

  std::string kind_;
  std::vector<Info> infos_;
};

}  // namespace tacit
