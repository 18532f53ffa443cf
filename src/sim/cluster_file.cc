// SPDX-License-Identifier: MIT
// Cluster files. Every key is asked for once; what nobody asked for is refused, with the nearest known key.
#include <algorithm>
#include <fstream>
#include <limits>
#include <toml.hpp>
#include <utility>

#include "sim/units.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/sim/cluster.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

// One table of the file; `where` is how messages call it.
class Table {
 public:
  Table(const toml::value& value, std::string where) : where_(std::move(where)) {
    if (!value.is_table()) refuse("is not a table");
    table_ = &value.as_table();
  }

  std::string name(const std::string& key) const { return where_ + key; }

  const toml::value* find(const std::string& key) {
    asked_.push_back(key);
    const auto found = table_->find(key);
    return found == table_->end() ? nullptr : &found->second;
  }
  std::string text(const std::string& key, const std::string& fallback) {
    const toml::value* v = find(key);
    if (v == nullptr) return fallback;
    if (!v->is_string()) refuse_value(key, "a text in quotes");
    return v->as_string().str;
  }
  int integer(const std::string& key, int fallback) {
    const toml::value* v = find(key);
    return v == nullptr ? fallback : to_integer(*v, key);
  }
  double number(const std::string& key, double fallback) {
    const toml::value* v = find(key);
    return v == nullptr ? fallback : to_number(*v, key);
  }
  Seconds time(const std::string& key, Seconds fallback) {
    const std::string text = this->text(key, "");
    return text.empty() ? fallback : sim::parse_time(text, name(key));
  }
  LinkSpeed link(const LinkSpeed& fallback) {
    LinkSpeed link = fallback;
    if (const std::string b = text("bandwidth", ""); !b.empty())
      link.bandwidth = sim::parse_bandwidth(b, name("bandwidth"));
    link.latency = time("latency", fallback.latency);
    return link;
  }
  // One number, or a list of them.
  std::vector<double> numbers(const std::string& key) {
    std::vector<double> all;
    for (const toml::value& each : list(key)) all.push_back(to_number(each, key));
    return all;
  }
  std::vector<int> integers(const std::string& key) {
    std::vector<int> all;
    for (const toml::value& each : list(key)) all.push_back(to_integer(each, key));
    return all;
  }
  std::vector<Table> tables(const std::string& key) {
    std::vector<Table> all;
    const toml::value* v = find(key);
    if (v == nullptr) return all;
    if (!v->is_array()) refuse_value(key, "tables, written [[" + key + "]]");
    for (const toml::value& each : v->as_array()) all.emplace_back(each, name(key) + ".");
    return all;
  }

  void finish() const {
    for (const auto& [key, value] : *table_)
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
        throw InvalidConfig(where_ + unknown_name("key", key, asked_));
  }
  [[noreturn]] void refuse(const std::string& why) const { throw InvalidConfig(where_ + " " + why); }
  [[noreturn]] void refuse_value(const std::string& key, const std::string& want) const {
    throw InvalidConfig(name(key) + " wants " + want);
  }

 private:
  std::vector<toml::value> list(const std::string& key) {
    const toml::value* v = find(key);
    if (v == nullptr) return {};
    if (v->is_array()) return v->as_array();
    return {*v};
  }
  double to_number(const toml::value& v, const std::string& key) const {
    if (v.is_floating()) return v.as_floating();
    if (v.is_integer()) return static_cast<double>(v.as_integer());
    refuse_value(key, "a number");
  }
  int to_integer(const toml::value& v, const std::string& key) const {
    if (!v.is_integer() || v.as_integer() < 0 || v.as_integer() > 1'000'000)
      refuse_value(key, "a whole number from 0 to 1000000");
    return static_cast<int>(v.as_integer());
  }

  std::string where_;
  const toml::table* table_ = nullptr;
  std::vector<std::string> asked_;
};

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
  std::ifstream in(file);
  if (!in)
    throw InvalidConfig("cannot read the trace " + file.string() + "; give a path beside the cluster file");
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

Cluster read(Table& file, const fs::path& folder) {
  Cluster cluster;
  const toml::value nothing = toml::table{};
  cluster.workers = file.integer("workers", 0);
  const toml::value* network = file.find("network");
  const toml::value* compute = file.find("compute");
  Table network_table(network == nullptr ? nothing : *network, file.name("network."));
  Table compute_table(compute == nullptr ? nothing : *compute, file.name("compute."));
  read_network(network_table, folder, cluster);
  read_compute(compute_table, folder, cluster);
  for (Table& each : file.tables("straggler")) cluster.stragglers.push_back(read_straggler(each));
  for (Table& each : file.tables("crash")) {
    if (each.find("rank") == nullptr || each.find("at") == nullptr) each.refuse("wants rank and at");
    cluster.crashes.push_back({each.integer("rank", 0), each.time("at", Seconds(0))});
    each.finish();
  }
  file.finish();
  return cluster;
}

toml::value parse(const fs::path& file) {
  std::ifstream in(file);
  if (!in || fs::is_directory(file))
    throw InvalidConfig("cannot read the cluster file " + file.string() +
                        "; give the path of one, such as clusters/ethernet-10g.toml");
  try {
    return toml::parse(in, file.string());
  } catch (const toml::syntax_error& error) {
    const std::string what = error.what();  // a drawing of several lines; the first says what is wrong
    throw InvalidConfig("the cluster file " + file.string() + " is not TOML: line " +
                        std::to_string(error.location().line()) + ": " + what.substr(0, what.find('\n')));
  }
}

}  // namespace

Cluster read_cluster(const fs::path& file) {
  const toml::value root = parse(file);
  Table table(root, file.string() + ": ");
  Cluster cluster = read(table, file.parent_path());
  check(cluster, file.string());
  return cluster;
}

}  // namespace tacit
