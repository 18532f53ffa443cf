// SPDX-License-Identifier: MIT
#include "train/advice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr double kBusy = 0.85;       // who computes for so large a share of the time needs no advice
constexpr double kSlow = 1.3;        // a rank that computes so many times as long as the others holds them up
constexpr double kLeastSeconds = 1;  // a shorter run is mostly its beginning
constexpr double kWorthWhile = 0.1;  // a share of the time below which nobody looks for it
constexpr const char* kPage = "; see docs/choosing.md";

struct Shares {
  double compute = 0;
  double exchange = 0;
  double wait = 0;
};

Shares shares_of(std::span<const RankTimes> ranks) {
  Shares sum;
  for (const RankTimes& each : ranks) {
    sum.compute += each.compute;
    sum.exchange += each.communicate;
    sum.wait += each.wait;
  }
  const double all = sum.compute + sum.exchange + sum.wait;
  if (!(all > 0)) return {1, 0, 0};
  return {sum.compute / all, sum.exchange / all, sum.wait / all};
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string times(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", factor);
  return text;
}

// The rank that computes longest, and how many times as long as the middle one of the others.
struct Slowest {
  int rank = 0;
  double factor = 1;
};
Slowest slowest(std::vector<RankTimes> ranks) {
  std::sort(ranks.begin(), ranks.end(),
            [](const RankTimes& a, const RankTimes& b) { return a.compute < b.compute; });
  const double middle = ranks[(ranks.size() - 1) / 2].compute;
  return {ranks.back().rank, middle > 0 ? ranks.back().compute / middle : 1};
}

class Adviser {
 public:
  Adviser(const Summary& summary, const StrategyRegistry& strategies, AdviceWords words)
      : summary_(summary), strategies_(strategies), words_(words), info_(strategies.find(summary.strategy)) {}

  std::string advise() const {
    const Shares share = shares_of(summary_.ranks);
    if (share.compute > kBusy) return "";
    const Slowest slow = slowest(summary_.ranks);
    if (slow.factor >= kSlow && share.wait >= kWorthWhile) return about_slow_rank(slow, share.wait);
    if (share.exchange >= share.wait) return about_exchange(share.exchange);
    return about_waiting(share.wait);
  }

 private:
  std::string about_slow_rank(const Slowest& slow, double wait) const {
    const std::string what = "rank " + std::to_string(slow.rank) + " computes " + times(slow.factor) +
                             " times as long as others, and " + percent(wait) + " of the time is waiting: ";
    const std::string look = "see what else its machine does";
    if (info_.asynchronous) return what + look + kPage;
    std::string patient;
    for (const char* name : {"gossip", "wagma"})
      if (has(name)) patient += (patient.empty() ? "" : " or ") + strategy(name);
    return what + look + (patient.empty() ? "" : ", or use " + patient + ", which do not wait for it") +
           kPage;
  }

  std::string about_exchange(double exchange) const {
    const std::string what = percent(exchange) + " of the time is exchange";
    // Between threads nothing crosses a network: fewer bytes save no time.
    const bool network = summary_.world != "threads";
    if (network && summary_.compress.empty() && takes("fp16"))
      return what + ": " + compress("fp16") + " would halve the bytes" + kPage;
    const std::string sparse = "topk:ratio=0.01,ef";
    const bool halved = summary_.compress.starts_with("fp16") || summary_.compress.starts_with("bf16");
    if (network && halved && takes(sparse))
      return what + ", with half the bytes: " + compress(sparse) + " would send a 25th of them" + kPage;
    return what + rarer() + kPage;
  }

  std::string about_waiting(double wait) const {
    return percent(wait) + " of the time is waiting, though all ranks compute alike" + rarer() + kPage;
  }

  // The same with fewer exchanges, where there is such a thing.
  std::string rarer() const {
    if (info_.name == "ssgd" && has("local"))
      return ": " + strategy("local:period=8") + " would exchange at every 8th step";
    if (info_.name != "local") return "";
    OptionReader options(Spec::parse(summary_.strategy));
    const std::int64_t period = options.integer("period", 16, 1, kMany, {"as local has it"});
    return ": " + strategy("local:period=" + std::to_string(2 * period)) + " would exchange half as often";
  }

  bool has(const std::string& name) const {
    const auto names = strategies_.names();
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  // compskip and its like compress by themselves.
  bool takes(const std::string& form) const {
    if (info_.sends != Sends::kGradients && info_.sends != Sends::kDifferences) return false;
    try {
      make_strategy(strategies_, summary_.strategy, summary_.workers, form);
      return true;
    } catch (const InvalidConfig&) {
      return false;
    }
  }
  std::string compress(const std::string& form) const {
    return words_ == AdviceWords::kProgram ? "`--compress " + form + "`" : "`compress = \"" + form + "\"`";
  }
  std::string strategy(const std::string& form) const {
    return words_ == AdviceWords::kProgram ? "`--strategy " + form + "`" : "the strategy `\"" + form + "\"`";
  }

  const Summary& summary_;
  const StrategyRegistry& strategies_;
  const AdviceWords words_;
  const StrategyInfo& info_;
};

}  // namespace

std::string advice(const Summary& summary, const StrategyRegistry& strategies, AdviceWords words) {
  if (summary.ranks.size() < 2 || summary.seconds < kLeastSeconds) return "";
  return Adviser(summary, strategies, words).advise();
}

}  // namespace tacit
