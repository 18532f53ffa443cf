// SPDX-License-Identifier: MIT
#include "cli/launch/host_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "core/files.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

constexpr std::string_view kSlots = "slots=";

std::optional<int> slots_from(std::string_view word) {
  if (!word.starts_with(kSlots)) return std::nullopt;
  word.remove_prefix(kSlots.size());
  int slots = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), slots);
  if (error != std::errc{} || end != word.data() + word.size() || slots < 1 || slots > kMostSlots)
    return std::nullopt;
  return slots;
}

// Nothing where the words are no host. A name that begins with '-' would be an option of ssh.
std::optional<Host> host_from(const std::vector<std::string>& words) {
  if (words.size() > 2 || words.front().starts_with("-") || words.front().find('=') != std::string::npos)
    return std::nullopt;
  if (words.size() == 1) return Host{words.front(), 1};
  const auto slots = slots_from(words.back());
  if (!slots) return std::nullopt;
  return Host{words.front(), *slots};
}

// "node1" and "4" of node1:4, as MPICH and Horovod write it; nothing where the name has no such end. More than one colon
// is an address.
std::pair<std::string, std::string> split_colon(const std::string& word) {
  const auto colon = word.find(':');
  if (colon == std::string::npos || colon == 0) return {};
  const std::string slots = word.substr(colon + 1);
  if (slots.find_first_not_of("0123456789") != std::string::npos) return {};
  return {word.substr(0, colon), slots};
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

bool is_loopback(const std::string& host) {
  const std::string name = host.substr(host.rfind('@') + 1);
  return name == "localhost" || name == "::1" || name.starts_with("127.");
}

// Rank 0's host is where the others go, by the name that is written here.
void refuse_lonely_loopback(const std::vector<Host>& hosts, const std::string& file) {
  const auto elsewhere =
      std::find_if(hosts.begin(), hosts.end(), [](const Host& host) { return !is_loopback(host.name); });
  if (!is_loopback(hosts.front().name) || elsewhere == hosts.end()) return;
  throw InvalidConfig(
      fmt::format("{}: ranks on {} cannot reach rank 0 by the name {}; write the name that all hosts "
                  "know this one by",
                  file, elsewhere->name, hosts.front().name));
}

}  // namespace

std::vector<Host> read_host_file(const std::filesystem::path& path) {
  const std::string file = path.string();
  if (const std::error_code error = reading_error(path))
    throw InvalidConfig(fmt::format("the host file {}; give --hosts a file with lines of HOST [slots=N]",
                                    unreadable(path, error)));
  std::ifstream in(path);
  std::vector<Host> hosts;
  std::map<std::string, int> seen;  // host, line
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    const auto host = host_from(words);
    if (const auto [name, slots] = split_colon(words.front()); !slots.empty())
      throw InvalidConfig(fmt::format("{}:{}: '{}' has a port or slots behind a colon; write `{} slots={}`",
                                      file, number, words.front(), name, slots));
    if (!host)
      throw InvalidConfig(
          fmt::format("{}:{}: '{}' names no host; expected HOST [slots=N] with N from 1 to {}", file, number,
                      fmt::join(words, " "), kMostSlots));
    if (const auto [first, fresh] = seen.emplace(host->name, number); !fresh)
      throw InvalidConfig(fmt::format("{}:{}: host '{}' is in line {} already; name it once, with slots=N",
                                      file, number, host->name, first->second));
    hosts.push_back(*host);
  }
  if (hosts.empty())
    throw InvalidConfig(fmt::format("{} names no host; write one in each line: HOST [slots=N]", file));
  refuse_lonely_loopback(hosts, file);
  return hosts;
}

std::vector<HostShare> place_ranks(const std::vector<Host>& hosts, int ranks) {
  const int slots = std::accumulate(hosts.begin(), hosts.end(), 0,
                                    [](int sum, const Host& host) { return sum + host.slots; });
  if (ranks > slots)
    throw InvalidConfig(fmt::format(
        "-n {} is more than the {} slots of the host file; ask for fewer ranks or add slots", ranks, slots));
  int left = ranks == 0 ? slots : ranks;
  int first = 0;
  std::vector<HostShare> shares;
  for (const Host& host : hosts) {
    const int count = std::min(host.slots, left);
    if (count == 0) break;
    shares.push_back({host.name, {first, count}});
    first += count;
    left -= count;
  }
  return shares;
}

}  // namespace tacit::cli
