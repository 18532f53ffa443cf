// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tacit {

// A tensor as files of models name it.
struct TensorShape {
  std::string name;  // "conv1.weight"
  std::vector<std::int64_t> sizes;

  std::size_t count() const {
    std::size_t all = 1;
    for (const std::int64_t each : sizes) all *= static_cast<std::size_t>(each);
    return all;
  }
  std::string text() const {  // "32 x 1 x 5 x 5"
    if (sizes.empty()) return "a single value";
    std::string text;
    for (const std::int64_t each : sizes) text += (text.empty() ? "" : " x ") + std::to_string(each);
    return text;
  }
};

}  // namespace tacit
