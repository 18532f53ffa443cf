// SPDX-License-Identifier: MIT
#include "tacit/compress/compression.h"

#include <gtest/gtest.h>

#include "support/refusal.h"

namespace tacit::test {
namespace {

TEST(CompressionSpec, ReadsDecoratorsWithAndWithoutAColon) {
  EXPECT_EQ(Compression::parse("onebit,ef").memory, Memory::kErrorFeedback);
  EXPECT_EQ(Compression::parse("topk:ratio=0.01,ef").memory, Memory::kErrorFeedback);
  EXPECT_EQ(Compression::parse("topk:dgc,ratio=0.001").memory, Memory::kMomentum);
  EXPECT_EQ(Compression::parse("fp16").memory, Memory::kNone);
}

TEST(CompressionSpec, HasAMomentumOfItsOwnWithDgcOrWhereToldSo) {
  EXPECT_FALSE(Compression::parse("onebit,ef").momentum.has_value());
  EXPECT_EQ(Compression::parse("onebit,ef,momentum=0.5").momentum, 0.5F);
  EXPECT_EQ(Compression::parse("topk,dgc").momentum, 0.9F);
  EXPECT_EQ(Compression::parse("topk,dgc,momentum=0").momentum, 0.0F);
}

TEST(CompressionSpec, RefusesWhatMakesNoSenseByName) {
  const auto refused = [](const char* spec, const char* word) {
    const std::string what = refusal([&] { Compression::parse(spec); });
    EXPECT_NE(what.find(word), std::string::npos) << spec << ": " << what;
  };
  refused("topk:ratio=0", "(0, 1]");
  refused("topk:ratio=1.5", "ratio=1.5");
  refused("topk:ratio=nan", "ratio=nan");
  refused("drop:ratio=-1", "ratio=-1");
  refused("qsgd:levels=128", "levels=128");
  refused("qsgd:levels=0", "levels=0");
  refused("powersgd:rank=0", "rank=0");
  refused("onebit:block=12", "multiple of 8");
  refused("terngrad,ef", "leave ef out");
  refused("qsgd:levels=1,ef", "more levels");
  refused("onebit,dgc", "topk");
  refused("topk,ef,dgc", "one of them");
  refused("topk:momentum=0.5", "belongs to ef and dgc");
  refused("onebit:ef,momentum=1", "momentum=1");
  refused("powersgd:via=gather", "sums travel");
  refused("topk:rato=0.1", "ratio");
  refused("tpk", "topk");
}

}  // namespace
}  // namespace tacit::test
