// SPDX-License-Identifier: MIT
// tacit list --legal: which strategy takes which compressor.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/layout.h"
#include "cli/list.h"
#include "cli/terminal.h"
#include "tacit/compress/compression.h"
#include "tacit/strategies/builtin.h"

namespace tacit::cli {
namespace {

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

// The forms of the compressor that the strategy takes; what it says to the others is added to the reasons, once.
std::string cell_of(const StrategyInfo& strategy, const std::string& name,
                    std::vector<std::string>& reasons) {
  std::string cell;
  for (const Compression& form : forms_of(name)) {
    const std::string reason = why_not(strategy, form);
    if (reason.empty()) cell += (cell.empty() ? "" : " ") + form_name(form);
    const bool known = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
    if (!reason.empty() && !known) reasons.push_back(reason);
  }
  return cell.empty() ? "-" : cell;
}

void print_json() {
  auto out = nlohmann::ordered_json::array();
  for (const std::string& name : builtin_compressors().names())
    for (const StrategyInfo& s : builtin_strategies().all())
      for (const Compression& form : forms_of(name)) {
        const std::string reason = why_not(s, form);
        out.push_back(
            {{"strategy", s.name}, {"compressor", form.text}, {"legal", reason.empty()}, {"reason", reason}});
      }
  fmt::print("{}\n", out.dump(2));
}

}  // namespace

int print_legal(bool json) {
  if (json) {
    print_json();
    return 0;
  }
  constexpr std::size_t kFirst = 12;
  constexpr std::size_t kColumn = 16;
  const std::size_t width = page_columns();
  const std::size_t fit = std::max<std::size_t>(1, (width - std::min(width, kFirst)) / kColumn);
  std::vector<std::string> reasons;
  const auto all = builtin_strategies().all();
  for (std::size_t at = 0; at < all.size();
       at += fit) {  // a table for as many strategies as fit beside each other
    const auto these = all.subspan(at, std::min(fit, all.size() - at));
    std::string line = fmt::format("{:<{}}", "compressor", kFirst);
    for (const StrategyInfo& s : these) line += fmt::format("{:<{}}", s.name, kColumn);
    fmt::print("{}{}\n", at == 0 ? "" : "\n", line.substr(0, line.find_last_not_of(' ') + 1));
    for (const std::string& name : builtin_compressors().names()) {
      line = fmt::format("{:<{}}", name, kFirst);
      for (const StrategyInfo& s : these) line += fmt::format("{:<{}}", cell_of(s, name, reasons), kColumn);
      fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
    }
  }
  for (const std::string& reason : reasons) fmt::print("\n{}\n", wrapped(reason, width, 0));
  return 0;
}

}  // namespace tacit::cli
