// SPDX-License-Identifier: MIT
// Events from JSON.
#pragma once

#include <limits>
#include <type_traits>
#include <vector>

#include "runlog/json.h"

namespace tacit {

template <class T>
void read_field(const Json& field, T& value) {
  if constexpr (requires { value.has_value(); }) {
    if (!field.is_null()) value = field.get<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, double>) {
    value =
        field.is_null() ? std::numeric_limits<double>::quiet_NaN() : field.get<double>();  // JSON has no NaN
  } else {
    field.get_to(value);
  }
}

template <class Event>
Event from_json(const Json& json) {
  Event event;
  fields(event, [&](const char* name, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    constexpr bool list =
        std::is_same_v<Value, std::vector<RankLost>> || std::is_same_v<Value, std::vector<RankTimes>>;
    constexpr bool optional = requires { value.has_value(); };
    // Logs of earlier versions have no lists either.
    const bool recent = list || optional || is_recent(name);
    if (recent && !json.contains(name)) return;
    if constexpr (list) {
      json.at(name).get_to(value);
    } else {
      read_field(json.at(name), value);
    }
  });
  return event;
}

}  // namespace tacit
