// SPDX-License-Identifier: MIT
// Groups that change from step to step, so that what one place has soon reaches all. Pure arithmetic.
//
// For n = s^k this is the butterfly of WAGMA-SGD: places are numbers of k digits to the base s, and the groups of step
// t are the places that differ in digit t mod k alone. After k steps of averages in groups all places have the mean.
//
// For any other n, places are sorted by their digits with digit t mod k last, and cut into floor(n / s) runs whose
// lengths differ by at most one: s places at least, fewer than 2 s. Averages in disjoint groups keep the mean, whatever
// their sizes, and over the steps every place meets every other one, directly or through others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace tacit::groups {

// The number of digits of n places to the base s, s >= 2: groups repeat after so many steps.
constexpr int phases(int n, int s) {
  int k = 1;
  for (std::int64_t reach = s; reach < n; reach *= s) ++k;
  return k;
}

// The places of [0, n) that are in one group with `place` at step t, in ascending order. 1 <= s <= n.
inline std::vector<int> group_of(int place, int n, int s, std::int64_t t) {
  if (s == 1) return {place};
  std::int64_t unit = 1;  // of the digit that the members differ in
  for (std::int64_t i = t % phases(n, s); i > 0; --i) unit *= s;
  std::vector<std::pair<std::int64_t, int>> order;
  for (int v = 0; v < n; ++v) {
    const std::int64_t rest = v / (unit * s) * unit + v % unit;
    order.emplace_back(rest * s + v / unit % s, v);
  }
  std::sort(order.begin(), order.end());
  const auto at =
      std::find_if(order.begin(), order.end(), [&](const auto& each) { return each.second == place; });
  const std::int64_t runs = n / s;
  const std::int64_t run = ((at - order.begin() + 1) * runs - 1) / n;
  std::vector<int> members;
  for (std::int64_t i = run * n / runs; i < (run + 1) * n / runs; ++i)
    members.push_back(order[static_cast<std::size_t>(i)].second);
  std::sort(members.begin(), members.end());
  return members;
}

// About the square root of n: its divisor nearest to that, where one is within a factor of two.
constexpr int default_size(int n) {
  int root = std::min(n, 2);
  while (root * (root + 1) < n) ++root;  // rounded
  for (int s = root; s > 1 && 4 * s * s >= n; --s)
    if (n % s == 0) return s;
  return root;
}

static_assert(phases(16, 4) == 2 && phases(17, 4) == 3 && phases(3, 4) == 1);
static_assert(default_size(1) == 1 && default_size(2) == 2 && default_size(3) == 2);
static_assert(default_size(16) == 4 && default_size(8) == 2 && default_size(64) == 8 && default_size(7) == 3);

}  // namespace tacit::groups
