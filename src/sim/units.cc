// SPDX-License-Identifier: MIT
#include "sim/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "tacit/core/error.h"

namespace tacit::sim {
namespace {

struct Unit {
  std::string_view name;
  double size;
};
constexpr std::array<Unit, 6> kTimes{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}};
constexpr std::array<Unit, 10> kBandwidths{{{"bps", 0.125},
                                            {"kbps", 0.125e3},
                                            {"Mbps", 0.125e6},
                                            {"Gbps", 0.125e9},
                                            {"Tbps", 0.125e12},
                                            {"B/s", 1},
                                            {"kB/s", 1e3},
                                            {"MB/s", 1e6},
                                            {"GB/s", 1e9},
                                            {"TB/s", 1e12}}};

double parse(const std::string& text, const std::string& where, std::span<const Unit> units,
             const char* example) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string_view name(rest, static_cast<std::size_t>(end - rest));
  while (name.starts_with(' ')) name.remove_prefix(1);
  if (error == std::errc{} && std::isfinite(value))
    for (const Unit& unit : units)
      if (unit.name == name) return value * unit.size;
  std::string known;
  for (const Unit& unit : units) known += (known.empty() ? "" : ", ") + std::string(unit.name);
  throw InvalidConfig(where + " = \"" + text + "\" is not understood; write a number and a unit, such as \"" +
                      example + "\" (" + known + ")");
}

}  // namespace

Seconds parse_time(const std::string& text, const std::string& where) {
  return Seconds(parse(text, where, kTimes, "50us"));
}
double parse_bandwidth(const std::string& text, const std::string& where) {
  return parse(text, where, kBandwidths, "10Gbps");
}

}  // namespace tacit::sim
