// SPDX-License-Identifier: MIT
// Cluster files.
#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "core/files.h"
#include "sim/toml_table.h"
#include "tacit/sim/cluster.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;
using sim::Table;

// Racks of `rack` workers whose uplinks have 1/oversubscription of what their workers' links have together.
void read_fat_tree(Table& network, Cluster& cluster) {
  const int rack = network.integer("rack", 32);
  const double over = network.number("oversubscription", 1);
  const Seconds latency = network.time("uplink_latency", cluster.link.latency);
  if (rack < 1) network.refuse_value("rack", "1 worker or more");
  if (!(over > 0)) network.refuse_value("oversubscription", "more than 0; 2 halves the uplinks");
  for (int at = 0; at < cluster.workers; at += rack) {
    const int workers = std::min(rack, cluster.workers - at);
    cluster.groups.push_back({"rack-" + std::to_string(cluster.groups.size()), workers,
                              LinkSpeed{cluster.link.bandwidth * workers / over, latency}});
  }
}

void read_regions(Table& network, Cluster& cluster) {
  for (Table& each : network.tables("region")) {
    const auto number = std::to_string(cluster.groups.size());
    const std::string name = each.text("name", "region-" + number);
    const int here = each.integer("workers", 1);
    cluster.groups.push_back({name, here, each.link({0, Seconds(0)})});
    each.finish();
  }
  if (cluster.groups.empty())
    network.refuse_value("region", "a table for each region, written [[network.region]]");
  for (std::size_t i = 0; i < cluster.groups.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (cluster.groups[i].name == cluster.groups[j].name)
        throw InvalidConfig(network.name("region") + " has two named " + cluster.groups[i].name);
}

void read_network(Table& network, const fs::path& folder, Cluster& cluster) {
  const std::string platform = network.text("platform", "");
  const std::string preset = network.text("preset", "flat");
  cluster.link = network.link(cluster.link);
  const std::vector<std::string> presets{"flat", "fat-tree", "wan"};
  if (preset == "fat-tree") {
    read_fat_tree(network, cluster);
  } else if (preset == "wan") {
    read_regions(network, cluster);
  } else if (preset != "flat") {
    throw InvalidConfig(network.name("preset") + ": " + unknown_name("network", preset, presets));
  }
  if (!platform.empty()) cluster.platform = folder / platform;
  network.finish();
}

// One step per line, in seconds or with a unit; `#` begins a remark.
std::vector<Seconds> read_trace(const fs::path& file) {
  if (const std::error_code error = reading_error(file))
    throw InvalidConfig("the trace " + unreadable(file, error) + "; give a path beside the cluster file");
  std::ifstream in(file);
  std::vector<Seconds> steps;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const auto from = line.find_first_not_of(" \t\r");
    if (from == std::string::npos) continue;
    line = line.substr(from, line.find_last_not_of(" \t\r") - from + 1);
    const bool plain = line.find_first_not_of("0123456789.eE+-") == std::string::npos;
    const std::string where = file.string() + ", line " + std::to_string(number);
    steps.push_back(sim::parse_time(plain ? line + "s" : line, where));
    if (!(steps.back() >= Seconds(0))) throw InvalidConfig(where + ": a step cannot take negative time");
  }
  if (steps.empty()) throw InvalidConfig("the trace " + file.string() + " has no steps");
  return steps;
}

void read_compute(Table& compute, const fs::path& folder, Cluster& cluster) {
  cluster.step = compute.time("step", cluster.step);
  cluster.jitter = compute.number("jitter", 0);
  if (const std::string memory = compute.text("memory", ""); !memory.empty())
    cluster.memory = sim::parse_bandwidth(memory, compute.name("memory"));
  cluster.speed = compute.numbers("speed");
  if (cluster.speed.size() == 1)
    cluster.speed.resize(static_cast<std::size_t>(cluster.workers), cluster.speed[0]);
  if (const std::string trace = compute.text("trace", ""); !trace.empty())
    cluster.trace = read_trace(folder / trace);
  compute.finish();
}

Straggler read_straggler(Table& rule) {
  Straggler s;
  s.ranks = rule.integers("ranks");
  s.count = rule.integer("count", 0);
  s.delay = rule.time("delay", s.delay);
  s.factor = rule.number("factor", 1);
  rule.finish();
  if (!s.ranks.empty() && s.count > 0) rule.refuse("gives both ranks and count; give one of them");
  return s;
}

void require(Table& fault, std::initializer_list<const char*> keys) {
  std::string all;
  bool missing = false;
  for (const char* key : keys) {
    all += (all.empty() ? "" : " and ") + std::string(key);
    missing = fault.find(key) == nullptr || missing;
  }
  if (missing) fault.refuse("wants " + all);
}

LateRule read_late(Table& rule, bool lost) {
  lost ? require(rule, {"rate"}) : require(rule, {"delay"});
  LateRule late;
  late.from = rule.integers("from");
  late.to = rule.integers("to");
  late.at = rule.time("at", late.at);
  late.until = rule.time("until", late.until);
  late.rate = rule.number("rate", late.rate);
  if (!lost) late.delay = rule.time("delay", Seconds(0));
  rule.finish();
  return late;
}

void read_faults(Table& file, Cluster& cluster) {
  for (Table& each : file.tables("crash")) {
    require(each, {"rank", "at"});
    cluster.crashes.push_back({each.integer("rank", 0), each.time("at", Seconds(0))});
    each.finish();
  }
  for (Table& each : file.tables("stop")) {
    require(each, {"rank", "at"});
    cluster.stops.push_back(
        {each.integer("rank", 0), each.time("at", Seconds(0)), each.time("until", kNever)});
    each.finish();
  }
  for (Table& each : file.tables("cut")) {
    require(each, {"from", "to", "at"});
    cluster.cuts.push_back({each.integers("from"), each.integers("to"), each.flag("both", true),
                            each.time("at", Seconds(0)), each.time("until", kNever)});
    each.finish();
  }
  for (Table& each : file.tables("late")) cluster.late.push_back(read_late(each, false));
  for (Table& each : file.tables("lost")) cluster.late.push_back(read_late(each, true));
}

Cluster read(Table& file, const fs::path& folder, std::optional<int> workers) {
  Cluster cluster;
  const toml::value nothing = toml::table{};
  cluster.workers = file.integer("workers", 0);
  if (workers) cluster.workers = *workers;
  const toml::value* network = file.find("network");
  const toml::value* compute = file.find("compute");
  Table network_table(network == nullptr ? nothing : *network, file.name("network."));
  Table compute_table(compute == nullptr ? nothing : *compute, file.name("compute."));
  read_network(network_table, folder, cluster);
  read_compute(compute_table, folder, cluster);
  for (Table& each : file.tables("straggler")) cluster.stragglers.push_back(read_straggler(each));
  read_faults(file, cluster);
  file.finish();
  return cluster;
}

}  // namespace

Cluster read_cluster(const fs::path& file, std::optional<int> workers) {
  const toml::value root = sim::parse_toml(file, "cluster file", "clusters/ethernet-10g.toml");
  Table table(root, file.string() + ": ");
  Cluster cluster = read(table, file.parent_path(), workers);
  check(cluster, file.string());
  return cluster;
}

}  // namespace tacit
