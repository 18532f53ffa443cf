// SPDX-License-Identifier: MIT
#include "sim/platform.h"

#include <algorithm>
#include <array>
#include <exception>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

#include "core/files.h"
#include "tacit/core/error.h"

namespace tacit::sim {
namespace {

namespace s4u = simgrid::s4u;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kContexts =
    "--cfg=contexts/factory:thread";  // sanitizers follow threads, not switched stacks
#else
constexpr const char* kContexts = "--cfg=contexts/factory:raw";
#endif

using Links = std::vector<s4u::LinkInRoute>;

s4u::Link* make_link(s4u::NetZone& zone, const std::string& name, const LinkSpeed& speed) {
  return zone.create_split_duplex_link(name, speed.bandwidth)->set_latency(speed.latency.count());
}

Links up(s4u::Link* link) { return {{link, s4u::LinkInRoute::Direction::UP}}; }

// A switch with its workers, each on a link of its own.
void add_workers(s4u::NetZone& zone, int count, const LinkSpeed& speed, std::vector<s4u::Host*>& hosts) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "rank-" + std::to_string(hosts.size());
    s4u::Host* host = zone.create_host(name, 1e9);  // its speed is not used: actors sleep while they compute
    zone.add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                   up(make_link(zone, "link-" + name, speed)));
    host->seal();
    hosts.push_back(host);
  }
}

// Groups hang on a core that is never the bottleneck; their uplinks are.
void add_groups(s4u::NetZone& root, const Cluster& cluster, std::vector<s4u::Host*>& hosts) {
  for (const WorkerGroup& group : cluster.groups) {
    s4u::NetZone* zone = s4u::create_star_zone(group.name);
    zone->set_parent(&root);
    auto* router = zone->create_router("switch-" + group.name);
    add_workers(*zone, group.workers, cluster.link, hosts);
    zone->seal();
    Links links;
    if (group.uplink) links = up(make_link(root, "uplink-" + group.name, *group.uplink));
    root.add_route(zone->get_netpoint(), nullptr, router, nullptr, links);
  }
}

// Names with numbers in the order of the numbers: node-2 before node-10.
bool natural_less(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto number = [&](const std::string& s, std::size_t& at) {
      std::size_t end = at;
      while (end < s.size() && digit(s[end])) ++end;
      std::string text = s.substr(std::min(s.find_first_not_of('0', at), end), std::string::npos);
      text.resize(text.size() - (s.size() - end));
      at = end;
      return text;
    };
    const std::string x = number(a, i);
    const std::string y = number(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  return a.size() - i < b.size() - j;
}

std::vector<s4u::Host*> load(const Cluster& cluster) {
  const std::string file = cluster.platform.string();
  if (const std::error_code error = reading_error(cluster.platform))
    throw InvalidConfig("the platform file " + unreadable(file, error) +
                        "; give the path of a SimGrid platform");
  try {
    s4u::Engine::get_instance()->load_platform(file);
  } catch (const std::exception& error) {
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    throw InvalidConfig("the platform file " + file + " is not one that SimGrid reads (" + what + ")");
  }
  for (const s4u::Link* link : s4u::Engine::get_instance()->get_all_links())
    if (!(link->get_bandwidth() > 0))
      throw InvalidConfig("the platform file " + file + " gives link " + link->get_name() +
                          " no bandwidth; give more than 0");
  std::vector<s4u::Host*> hosts = s4u::Engine::get_instance()->get_all_hosts();
  std::sort(hosts.begin(), hosts.end(),
            [](auto* a, auto* b) { return natural_less(a->get_name(), b->get_name()); });
  if (hosts.size() < static_cast<std::size_t>(cluster.workers))
    throw InvalidConfig("the platform file " + file + " has " + std::to_string(hosts.size()) + " hosts for " +
                        std::to_string(cluster.workers) + " workers; ask for fewer workers or add hosts");
  hosts.resize(static_cast<std::size_t>(cluster.workers));
  return hosts;
}

// With the settings that every simulation here has.
void start_engine() {
  // Links carry what they are said to carry: SimGrid's corrections for TCP on its authors' cluster are off, and so are
  // the bound of a TCP window over the latency and the acknowledgements' share of the way back.
  std::array<const char*, 14> args{"tacit",
                                   "--log=root.thres:critical",
                                   "--log=no_loc",
                                   kContexts,
                                   "--cfg=contexts/stack-size:2048",  // KiB
                                   "--cfg=network/model:CM02",
                                   "--cfg=network/TCP-gamma:0",
                                   "--cfg=network/crosstraffic:0",
                                   "--cfg=network/bandwidth-factor:1",
                                   "--cfg=network/latency-factor:1",
                                   "--cfg=network/weight-S:0",
                                   "--cfg=surf/precision:1e-12",
                                   "--cfg=debug/verbose-exit:0",
                                   nullptr};
  int count = static_cast<int>(args.size()) - 1;
  static s4u::Engine engine(&count,
                            const_cast<char**>(args.data()));  // SimGrid takes its options out of argv
}

}  // namespace

std::vector<s4u::Host*> build_platform(const Cluster& cluster) {
  start_engine();
  if (!cluster.platform.empty()) return load(cluster);
  std::vector<s4u::Host*> hosts;
  s4u::NetZone* root = s4u::create_star_zone("cluster");
  if (cluster.groups.empty()) {
    add_workers(*root, cluster.workers, cluster.link, hosts);
  } else {
    add_groups(*root, cluster, hosts);
  }
  root->seal();
  return hosts;
}

}  // namespace tacit::sim
