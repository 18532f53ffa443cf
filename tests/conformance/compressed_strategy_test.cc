// SPDX-License-Identifier: MIT
// Every legal pair of a strategy and a compressor trains, and the others are refused by name.
#include <gtest/gtest.h>

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
      TrainCase c{.strategy = info.name == "local" ? "local:period=4" : info.name,
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
  for (const char* strategy : {"ssgd", "local:period=2"}) {
    TrainCase c{.strategy = strategy, .steps = 60, .model = "mlp:hidden=64"};
    const auto plain = train(c).summary.bytes_payload;
    c.compress = "onebit:ef,min=100";
    EXPECT_LT(train(c).summary.bytes_payload, plain / 10) << strategy;
  }
}

// One rank with everything sent is plain SGD: nothing is left to feed back.
TEST(CompressedStrategy, WithNothingLeftOutIsTheStrategyItself) {
  for (const char* strategy : {"ssgd", "local:period=1"})
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

TEST(CompressedStrategy, MomentumThatIsInFrontAlreadyTakesNesterovsForm) {
  TrainOptions options;
  options.strategy = "compskip:limit=20";
  options.optimizer = "sgd:momentum=0.5,weight_decay=0.01";
  EXPECT_EQ(with_momentum_in_place(options, builtin_strategies()).optimizer, options.optimizer + ",nesterov");
  for (const char* as_it_is : {"sgd", "sgd:weight_decay=0.01", "adam", "sgd:momentum=0.5,nesterov=false",
                               "sgd:momentum=0.5,nesterov"}) {
    options.optimizer = as_it_is;
    EXPECT_EQ(with_momentum_in_place(options, builtin_strategies()).optimizer, as_it_is);
  }
}

TEST(CompressedStrategy, ErrorFeedbackTakesTheMomentumOfSgdInFront) {
  TrainOptions options;
  options.compress = "onebit,ef";
  options.optimizer = "sgd:momentum=0.5,weight_decay=0.01";
  const TrainOptions moved = with_momentum_in_place(options, builtin_strategies());
  EXPECT_EQ(Compression::parse(moved.compress).momentum, 0.5F);
  EXPECT_EQ(moved.optimizer, "sgd:momentum=0,weight_decay=0.02");
  const auto stays = [&](const char* strategy, const char* compress, const char* optimizer) {
    options.strategy = strategy;
    options.compress = compress;
    options.optimizer = optimizer;
    const TrainOptions same = with_momentum_in_place(options, builtin_strategies());
    EXPECT_EQ(same.compress, compress);
    EXPECT_EQ(same.optimizer, optimizer);
  };
  stays("local", "onebit,ef", "sgd:momentum=0.9");
  stays("ssgd", "onebit,ef,momentum=0", "sgd:momentum=0.9");
  stays("ssgd", "onebit", "sgd:momentum=0.9");
  stays("ssgd", "onebit,ef", "adam");
  stays("ssgd", "", "sgd:momentum=0.9");
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
