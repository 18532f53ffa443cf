// SPDX-License-Identifier: MIT
#include "tacit/strategy/registry.h"

#include "strategy/braking.h"

namespace tacit {

namespace {

constexpr const char* kElsewhere =
    "; leave the compressor out, or use a strategy that takes one, such as ssgd or local";

bool own_momentum(const Compression& how) {
  return how.memory == Memory::kMomentum || how.momentum.value_or(0) > 0;
}

std::string twice_momentum(const std::string& strategy) {
  return strategy +
         " sends how far weights have moved, which has the optimiser's momentum in it already, and "
         "dgc or momentum= would add another; use ef without momentum=";
}

// Where both sides keep what was left out, and may be silent.
std::string why_not_both_ways(const std::string& strategy, const Compression& how) {
  if (own_momentum(how)) return twice_momentum(strategy);
  if (how.maker.sketch)
    return strategy + " lets ranks be silent, and the sums of " + how.name +
           " need all of them; use topk, drop, onebit, int8, fp16 or bf16";
  if (!how.maker.traits.contracts)
    return strategy + " keeps what was left out, and the errors of " + how.name +
           " can be larger than its input, so that they would grow; use topk, drop, onebit, int8, fp16 or "
           "bf16";
  if (how.route == Route::kGather)
    return strategy + " sends everything over servers, which via=gather does without; leave via out";
  if (Spec::parse(how.text).options.contains("answer"))
    return strategy + " has a compressor for the servers' answers; leave answer out and give down=";
  return "";
}

// Where servers read what each worker pushed by itself, and answer exactly.
std::string why_not_pushes(const std::string& strategy, const Compression& how) {
  if (how.maker.sketch)
    return strategy + " pushes gradients to servers, and the sums of " + how.name +
           " travel among workers; use another compressor";
  if (how.route != Route::kAuto)
    return strategy + " pushes gradients to servers, which is one way for all of them; leave via out";
  if (Spec::parse(how.text).options.contains("answer"))
    return strategy + " has servers whose answers are exact; leave answer out";
  return "";
}

}  // namespace

std::string why_not(const StrategyInfo& strategy, const Compression& how) {
  if (strategy.sends != Sends::kNotCompressed) return why_not(strategy.name, strategy.sends, how);
  const std::string why =
      strategy.why_not_compressed.empty() ? "has no compressed form" : strategy.why_not_compressed;
  return strategy.name + " " + why + kElsewhere;
}

std::string why_not(const std::string& strategy, Sends sends, const Compression& how) {
  switch (sends) {
    case Sends::kNotCompressed:
      throw Bug(strategy + " was asked why it is not compressed without its StrategyInfo");
    case Sends::kWeights:
      return strategy +
             " sends weights, of which nothing may be left out: nobody could tell what is missing from a "
             "zero" +
             kElsewhere;
    case Sends::kGradients:
      return "";
    case Sends::kPushes:
      return why_not_pushes(strategy, how);
    case Sends::kDifferences:
      return own_momentum(how) ? twice_momentum(strategy) : "";
    case Sends::kBothWays:
      return why_not_both_ways(strategy, how);
  }
  throw Bug("a strategy that sends nothing known");
}

std::unique_ptr<Strategy> make_strategy(const StrategyInfo& info, OptionReader& options, int ranks) {
  auto strategy = info.make(options, ranks);
  const double rho = read_braking(options);
  return rho > 0 ? with_braking(std::move(strategy), rho) : std::move(strategy);
}

std::unique_ptr<Strategy> make_strategy(const StrategyRegistry& known, std::string_view spec, int ranks,
                                        std::string_view compress) {
  return known.make(spec, [&](const StrategyInfo& info, OptionReader& options) {
    auto strategy = make_strategy(info, options, ranks);
    if (compress.empty()) return strategy;
    const Compression how = Compression::parse(compress);
    if (const std::string reason = why_not(info, how); !reason.empty())
      throw InvalidConfig(info.name + " does not take the compressor " + how.text + ": " + reason);
    if (const std::string reason = strategy->why_not(how); !reason.empty())
      throw InvalidConfig(info.name + ": " + reason);
    return strategy;
  });
}

}  // namespace tacit
