// SPDX-License-Identifier: MIT
#include "cli/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "tacit/core/error.h"
#include "tacit/core/options.h"
#include "tacit/core/text.h"
#include "tacit/train/dataset.h"

namespace tacit::cli {
namespace {

constexpr const char* kOption = "holdout";
constexpr std::int64_t kUsual = 10'000;  // a sixth of Fashion-MNIST

bool can_hold_out(const DatasetInfo& info) {
  const auto options = builtin_datasets().options_of(
      info, [](const DatasetInfo& each, OptionReader& reader) { each.prepare(reader); });
  return std::any_of(options.begin(), options.end(), [](const OptionInfo& o) { return o.key == kOption; });
}

[[noreturn]] void refuse_nothing(const std::string& what) {
  throw InvalidConfig(what +
                      " holds nothing out, and rates are not chosen by the test set; give the number of "
                      "training samples to choose by, such as 10000");
}

}  // namespace

std::string held_out(const std::string& data, std::optional<std::int64_t> holdout) {
  const DatasetInfo& info = builtin_datasets().find(data);
  if (!can_hold_out(info))
    throw InvalidConfig(fmt::format(
        "the data set {} has no holdout=, and rates are not chosen by the test set; give --data one "
        "that lies in files, such as fashion-mnist",
        info.name));
  const Spec spec = Spec::parse(data);
  const auto own = spec.options.find(kOption);
  if (own != spec.options.end() && holdout)
    throw InvalidConfig(fmt::format("--data {} and --holdout {} both say what is held out; give one of them",
                                    data, *holdout));
  if (own != spec.options.end() && own->second == "0") refuse_nothing("holdout=0");
  if (own != spec.options.end()) return data;
  const std::int64_t count = holdout.value_or(kUsual);
  if (count <= 0) refuse_nothing(fmt::format("--holdout {}", count));
  return fmt::format("{}{}{}={}", data, spec.options.empty() ? ":" : ",", kOption, count);
}

std::string without_holdout(const std::string& data) {
  const auto colon = data.find(':');
  if (colon == std::string::npos) return data;
  std::string kept;
  std::istringstream pieces(data.substr(colon + 1));
  for (std::string piece; std::getline(pieces, piece, ',');)
    if (canonical(piece.substr(0, piece.find('='))) != kOption) kept += (kept.empty() ? ":" : ",") + piece;
  return data.substr(0, colon) + kept;
}

}  // namespace tacit::cli
