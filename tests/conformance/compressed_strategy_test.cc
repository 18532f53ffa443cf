// SPDX-License-Identifier: MIT
// Every legal pair of a strategy and a compressor trains, and the others are refused by name.
#include <gtest/gtest.h>

#include "means/momentum_place.h"
#include "support/refusal.h"
#include "support/train.h"

namespace tacit::test {
namespace {

const char* const kForms[] = {"identity",
                              "fp16",
                              "bf16",
                              "int8",
                              "qsgd:levels=127",
                              "terngrad:bucket=64",
                              "onebit:ef,block=64",
                              "topk:ratio=0.2,ef",
                              "drop:ratio=0.2,ef",
                              "randomk:ratio=0.3,ef",
                              "powersgd:rank=4,ef",
                              "topk:ratio=0.2,dgc"};

TEST(CompressedStrategy, TrainsWithEveryCompressorItTakes) {
  for (const StrategyInfo& info : builtin_strategies().all())
    for (const char* form : kForms) {
      const std::string spec =
          std::string(form) + (std::string(form).find(':') == std::string::npos ? ":" : ",") + "min=64";
      const bool legal = why_not(info, Compression::parse(spec)).empty();
      TrainCase c{.strategy = info.name == "local" ? "local:period=4"
                              : info.name == "ssd" ? "ssd:warmup=10"
                                                   : info.name,
                  .ranks = 2,
                  .steps = 50,
                  .global_batch = 120,
                  .compress = spec};
      if (!legal) {
        EXPECT_NE(refusal([&] { make_strategy(builtin_strategies(), c.strategy, 2, spec); }).find(info.name),
                  std::string::npos);
        continue;
      }
      const Trained run = train(c);
      EXPECT_LT(*run.summary.loss, 0.7 * run.first_loss) << info.name << " with " << spec;
      EXPECT_GT(*run.summary.accuracy, 0.7) << info.name << " with " << spec;
      for (const auto& params : run.params) EXPECT_EQ(params, run.params[0]);
    }
}

TEST(CompressedStrategy, SendsFewerBytes) {
  struct {
    const char* strategy;
    std::uint64_t times;
  } const fewer[] = {{"ssgd", 10}, {"local:period=2", 10}, {"dc_s3gd:resync=0", 10}, {"ssd:warmup=0,delay=5", 4}};
  for (const auto& each : fewer) {  // what ssd pulls at every fifth step is exact
    TrainCase c{.strategy = each.strategy, .steps = 60, .model = "mlp:hidden=64"};
    const auto plain = train(c).summary.bytes_payload;
    c.compress = "onebit:ef,min=100";
    EXPECT_LT(train(c).summary.bytes_payload, plain / each.times) << each.strategy;
  }
}

TEST(CompressedStrategy, WhoTakesNoneSaysWhyAndWhoDoes) {
  for (const StrategyInfo& info : builtin_strategies().all()) {
    if (info.sends != Sends::kNotCompressed && info.sends != Sends::kWeights) continue;
    const std::string why = why_not(info, Compression::parse("int8"));
    EXPECT_EQ(why.find(info.name + " "), 0U) << why;
    EXPECT_EQ(info.why_not_compressed.empty(), info.sends == Sends::kWeights) << info.name;
    EXPECT_NE(why.find(info.sends == Sends::kWeights ? "sends weights" : info.why_not_compressed),
              std::string::npos)
        << why;
    EXPECT_NE(why.find("such as ssgd or local"), std::string::npos) << why;
  }
}

// One rank with everything sent is plain SGD: nothing is left to feed back.
TEST(CompressedStrategy, WithNothingLeftOutIsTheStrategyItself) {
  for (const char* strategy : {"ssgd", "local:period=1", "dc_s3gd", "ssd:warmup=8,delay=3"})
    for (const char* optimizer : {"sgd", "sgd:momentum=0.9,nesterov"})
      for (const char* compress : {"topk:ratio=1,ef,min=0", "topk:ratio=1,ef,min=64"}) {
        TrainCase c{.strategy = strategy, .ranks = 1, .optimizer = optimizer};
        const auto plain = train(c).params[0];
        c.compress = compress;
        const auto compressed = train(c).params[0];
        for (std::size_t i = 0; i < plain.size(); ++i)
          ASSERT_NEAR(compressed[i], plain[i], 1e-4) << strategy << " with " << optimizer;
      }
}

// What the program does with words is what it does with others, to the bit.
void expect_same(TrainCase c, const char* compress, const char* optimizer, const char* same_compress,
                 const char* same_optimizer) {
  c.compress = compress;
  c.optimizer = optimizer;
  const auto one = train(c).params[0];
  c.compress = same_compress;
  c.optimizer = same_optimizer;
  EXPECT_EQ(one, train(c).params[0]) << c.strategy << " with '" << compress << "' and " << optimizer;
}

TEST(CompressedStrategy, MomentumThatIsInFrontAlreadyTakesNesterovsForm) {
  const TrainCase c{.strategy = "compskip:limit=20", .ranks = 2, .lr = 0.05};
  expect_same(c, "", "sgd:momentum=0.5,weight_decay=0.01", "", "sgd:momentum=0.5,weight_decay=0.01,nesterov");
  const SgdSettings asked{0.5, 0.01};
  EXPECT_EQ(momentum_place(Sends::kBothWays, std::nullopt, asked), MomentumPlace::kInsideNesterov);
  const SgdSettings left = left_inside(MomentumPlace::kInsideNesterov, asked);
  EXPECT_EQ(left.momentum, 0.5);
  EXPECT_EQ(left.weight_decay, 0.01);
  EXPECT_EQ(left.nesterov, true);
  for (const SgdSettings& as_it_is : {SgdSettings{}, {0, 0.01}, {0.5, 0, false}, {0.5, 0, true}})
    EXPECT_EQ(momentum_place(Sends::kBothWays, std::nullopt, as_it_is), MomentumPlace::kInside);
}

TEST(CompressedStrategy, ErrorFeedbackTakesTheMomentumOfSgdInFront) {
  for (const char* strategy : {"ssgd", "ssd:warmup=10"}) {
    const TrainCase c{.strategy = strategy, .ranks = 2, .lr = 0.05};
    const char* const spec = "onebit:ef,min=0,block=64";
    expect_same(c, spec, "sgd:momentum=0.5,weight_decay=0.01", "onebit:ef,min=0,block=64,momentum=0.5",
                "sgd:weight_decay=0.02");
    expect_same(c, spec, "sgd:momentum=0.5,nesterov", "onebit:ef,min=0,block=64,momentum=0.5", "sgd");
  }
  const SgdSettings sgd{0.9};
  const auto place = [&](Sends sends, const char* compress) {
    return momentum_place(sends, Compression::parse(compress), sgd);
  };
  EXPECT_EQ(place(Sends::kGradients, "onebit,ef"), MomentumPlace::kInFront);
  EXPECT_EQ(place(Sends::kPushes, "onebit,ef"), MomentumPlace::kInFront);
  EXPECT_EQ(place(Sends::kDifferences, "onebit,ef"), MomentumPlace::kInside);
  EXPECT_EQ(place(Sends::kGradients, "onebit,ef,momentum=0"), MomentumPlace::kInside);
  EXPECT_EQ(place(Sends::kGradients, "onebit"), MomentumPlace::kInside);
  EXPECT_EQ(momentum_place(Sends::kGradients, std::nullopt, sgd), MomentumPlace::kInside);
  // An optimiser that is not SGD keeps what it has.
  const TrainCase c{.strategy = "ssgd", .ranks = 2, .lr = 0.01};
  expect_same(c, "onebit:ef,min=0", "adam", "onebit:ef,momentum=0,min=0", "adam");
}

TEST(CompressedStrategy, ServersAndASecondMomentumAreRefused) {
  EXPECT_NE(
      refusal([] { make_strategy(builtin_strategies(), "ssgd:servers=2", 4, "onebit,ef"); }).find("servers"),
      std::string::npos);
  TrainOptions options;
  options.compress = "topk,dgc";
  EXPECT_NE(refusal([&] { check_compression(options, builtin_strategies(), 4); }).find("momentum"),
            std::string::npos);
  options.optimizer = "sgd";
  check_compression(options, builtin_strategies(), 4);
  options.compress = "onebit,ef,momentum=0.9";
  check_compression(options, builtin_strategies(), 4);
  options.optimizer = "adam";
  EXPECT_NE(refusal([&] { check_compression(options, builtin_strategies(), 4); }).find("momentum"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              make_strategy(builtin_strategies(), "local", 4, "onebit,ef,momentum=0.9");
            }).find("momentum"),
            std::string::npos);
}

}  // namespace
}  // namespace tacit::test
