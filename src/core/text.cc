// SPDX-License-Identifier: MIT
#include "tacit/core/text.h"

#include <algorithm>
#include <numeric>

namespace tacit {
namespace {

// Levenshtein distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string canonical(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::string nearest(std::string_view name, std::span<const std::string> known) {
  const std::string wanted = canonical(name);
  std::string best;
  // Farther than this is no help: two letters in five, one in three.
  const std::size_t limit =
      std::max<std::size_t>(1, std::min(name.size() / 2, std::max<std::size_t>(2, name.size() / 3)));
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : known) {
    const std::size_t d = distance(wanted, canonical(candidate));
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known) {
  std::string text = "unknown " + std::string(kind) + " '" + std::string(name) + "'";
  if (const std::string near = nearest(name, known); !near.empty()) text += "; did you mean '" + near + "'?";
  if (known.empty()) return text + "; none is known here";
  text += text.back() == '?' ? " Known: " : "; known: ";
  for (std::size_t i = 0; i < known.size(); ++i) text += (i == 0 ? "" : ", ") + known[i];
  return text;
}

}  // namespace tacit
