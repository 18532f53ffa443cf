// SPDX-License-Identifier: MIT
// tacit measure, as a user runs it.
#include <fstream>

#include "support/program.h"

namespace tacit::test {
namespace {

class MeasureCli : public Cli {
 protected:
  const std::string quick_ =
      " --data synthetic:samples=320,test=64,size=8,noise=0.1 --model mlp:hidden=8 --batch 8 --seconds 0.1 ";
  const std::string compare_ =
      " --strategies ssgd --data synthetic:samples=320,test=64,size=8,noise=0.1 --model mlp:hidden=8 --batch "
      "8 "
      "--steps 5 --target 0.1 --out compared";
};

TEST_F(MeasureCli, WritesAFileThatCompareReads) {
  const Result measured = tacit("measure --workers 2 --out two.toml" + quick_);
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_NE(measured.out.find("all at once"), std::string::npos) << measured.out;
  const Result compared = tacit("compare --cluster two.toml" + compare_);
  EXPECT_EQ(compared.code, 0) << compared.err;
}

TEST_F(MeasureCli, ProcessesThatWereLaunchedWriteOneFile) {
  const std::string program = TACIT_PROGRAM;
  const Result measured = tacit("launch -n 3 --insecure-plaintext --no-prefix -- " + program +
                                " measure --out three.toml" + quick_);
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_NE(slurp(path("three.toml")).find("workers = 3"), std::string::npos);
  EXPECT_NE(measured.out.find("three.toml is written"), std::string::npos);
}

TEST_F(MeasureCli, OneRankHasNoLinks) {
  const Result measured = tacit("measure --workers 1 --out one.toml --quiet" + quick_);
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_EQ(measured.out, "");
  const std::string text = slurp(path("one.toml"));
  EXPECT_NE(text.find("workers = 1"), std::string::npos);
  EXPECT_EQ(text.find("[network]"), std::string::npos) << text;
  EXPECT_EQ(tacit("simulate --cluster one.toml --steps 2" + quick_.substr(0, quick_.find("--seconds"))).code,
            0);
}

TEST_F(MeasureCli, AFileThatIsThereIsReplacedOnlyWhereThatIsSaid) {
  std::ofstream(path("mine.toml")) << "workers = 7\n";
  const Result refused = tacit("measure --workers 1 --out mine.toml" + quick_);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--overwrite"), std::string::npos) << refused.err;
  EXPECT_EQ(slurp(path("mine.toml")), "workers = 7\n");
  EXPECT_EQ(tacit("measure --workers 1 --overwrite --out mine.toml" + quick_).code, 0);
  EXPECT_NE(slurp(path("mine.toml")), "workers = 7\n");
}

TEST_F(MeasureCli, BadInputIsNamed) {
  const auto refusal = [&](const std::string& options) {
    const Result r = tacit("measure --workers 1 " + options);
    EXPECT_EQ(r.code, 2) << options;
    return r.err;
  };
  EXPECT_NE(refusal("--seconds 0").find("--seconds 0 is no time to measure"), std::string::npos);
  EXPECT_NE(refusal("--seconds 1e9").find("at most an hour"), std::string::npos);
  EXPECT_NE(refusal("--batch 0").find("--batch 0"), std::string::npos);
  EXPECT_NE(refusal("--model mlq --data synthetic").find("mlq"), std::string::npos);
  EXPECT_NE(refusal("--data nowhere").find("nowhere"), std::string::npos);
  EXPECT_NE(refusal("--out no/such/cluster.toml --data synthetic --model mlp").find("no/such"),
            std::string::npos);
}

}  // namespace
}  // namespace tacit::test
