// SPDX-License-Identifier: MIT
#include "tacit/world/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "transport/rank_list.h"

namespace tacit {
namespace {

// Of a setting that every rank has otherwise, or of many settings, a message names the first.
constexpr std::size_t kMostValues = 4;
constexpr std::size_t kMostSettings = 6;
constexpr std::size_t kMostLetters = 120;  // of one value

std::string take_text(ConstBytes& packed) {
  std::uint64_t length = 0;
  if (packed.size() < sizeof length)
    throw Mismatch("a rank's settings are cut off; do all run the same build?");
  std::memcpy(&length, packed.data(), sizeof length);
  packed = packed.subspan(sizeof length);
  if (length > packed.size()) throw Mismatch("a rank's settings are cut off; do all run the same build?");
  const std::string text(reinterpret_cast<const char*>(packed.data()), length);
  packed = packed.subspan(length);
  return text;
}

std::vector<Setting> unpack(ConstBytes packed) {
  std::vector<Setting> settings;
  while (!packed.empty()) {
    std::string name = take_text(packed);
    settings.push_back({std::move(name), take_text(packed)});
  }
  return settings;
}

// Whether every rank has these bytes; all ranks come to the same answer. The hash travels byte by byte as floats, whose
// sums are exact; where two ranks differ, one of them at least differs from the mean, and says so to all.
bool same_everywhere(Comm& comm, ConstBytes packed) {
  std::array<float, 9> sums{};
  std::uint64_t hash = hash_bytes(packed);
  for (std::size_t i = 0; i < 8; ++i, hash >>= 8U) sums[i] = static_cast<float>(hash & 0xFFU);
  sums[8] = 1;  // how many take part
  const std::array<float, 9> own = sums;
  comm.sum(sums);
  float objections = 0;
  for (std::size_t i = 0; i < 8; ++i)
    if (sums[i] != own[i] * sums[8]) objections = 1;
  comm.sum(std::span(&objections, 1));
  return objections == 0;
}

// The ranks that have one value.
struct Camp {
  std::string value;
  std::vector<int> ranks;
};
// All values of one setting, that of the lowest rank first.
struct Opinions {
  std::string name;
  std::vector<Camp> camps;
};

void count(std::vector<Camp>& camps, const std::string& value, int rank) {
  const auto found =
      std::find_if(camps.begin(), camps.end(), [&](const Camp& c) { return c.value == value; });
  if (found == camps.end()) {
    camps.push_back({value, {rank}});
  } else {
    found->ranks.push_back(rank);
  }
}

// By setting, in the order in which the ranks name them. A rank that does not have one has it not given.
std::vector<Opinions> differences(const std::vector<int>& ranks,
                                  const std::vector<std::vector<Setting>>& all) {
  std::vector<Opinions> opinions;
  for (const auto& settings : all)
    for (const Setting& each : settings)
      if (std::none_of(opinions.begin(), opinions.end(),
                       [&](const Opinions& known) { return known.name == each.name; }))
        opinions.push_back({each.name, {}});
  for (Opinions& each : opinions)
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto found = std::find_if(all[i].begin(), all[i].end(),
                                      [&](const Setting& setting) { return setting.name == each.name; });
      count(each.camps, found == all[i].end() ? "" : found->value, ranks[i]);
    }
  std::erase_if(opinions, [](const Opinions& each) { return each.camps.size() < 2; });
  return opinions;
}

std::string shown_value(const std::string& value) {
  if (value.empty()) return "not given";
  return value.size() <= kMostLetters ? shown(value) : shown(value.substr(0, kMostLetters)) + "...";
}

std::string describe(const Opinions& one) {
  std::string text = shown(one.name) + " is ";
  const std::size_t named = std::min(one.camps.size(), kMostValues);
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == one.camps.size();
    text += (i == 0 ? ""
             : last ? " and "
                    : ", ") +
            shown_value(one.camps[i].value) + " on " + name_ranks(one.camps[i].ranks);
  }
  if (one.camps.size() > named)
    text += " and otherwise on others, " + std::to_string(one.camps.size()) + " values in all";
  return text;
}

std::string describe(const std::vector<Opinions>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size() && i < kMostSettings; ++i) text += describe(all[i]) + "; ";
  if (all.size() > kMostSettings)
    text += std::to_string(all.size() - kMostSettings) + " more settings differ; ";
  return text + "give every rank the same";
}

}  // namespace

// Texts with their lengths in front, so that no two lists of settings are packed alike.
std::vector<std::byte> pack_settings(std::span<const Setting> settings) {
  std::vector<std::byte> packed;
  const auto add = [&](std::string_view text) {
    const auto length = static_cast<std::uint64_t>(text.size());
    const auto head = std::as_bytes(std::span(&length, 1));
    packed.insert(packed.end(), head.begin(), head.end());
    const auto bytes = std::as_bytes(std::span(text));
    packed.insert(packed.end(), bytes.begin(), bytes.end());
  };
  for (const Setting& each : settings) {
    add(each.name);
    add(each.value);
  }
  return packed;
}

std::string difference(int rank, std::span<const Setting> mine, int peer, ConstBytes packed) {
  const std::vector<Opinions> found = differences({rank, peer}, {{mine.begin(), mine.end()}, unpack(packed)});
  return found.empty() ? "" : describe(found);
}

void agree(Comm& control, std::span<const Setting> mine) {
  const std::vector<std::byte> packed = pack_settings(mine);
  if (same_everywhere(control, packed)) return;
  std::vector<int> ranks;
  std::vector<std::vector<Setting>> all;
  const std::vector<ConstBytes> out(static_cast<std::size_t>(control.size()), ConstBytes(packed));
  control.all_to_all(out, [&](int from, ConstBytes message) {
    ranks.push_back(from);
    all.push_back(unpack(message));
  });
  throw InvalidConfig(describe(differences(ranks, all)));
}

}  // namespace tacit
