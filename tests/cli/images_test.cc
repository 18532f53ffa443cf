// SPDX-License-Identifier: MIT
// The data set `images` in the program: files that are bad, ranks that share it, runs that are repeated.
#include <gtest/gtest.h>

#include "support/image_folder.h"
#include "support/program.h"

namespace tacit::test {
namespace {

constexpr const char* kTrain = "train --model logistic --batch 4 --epochs 3 --lr 0.01 --evaluate-every 2 ";

class ImagesOfTheProgram : public Cli {
 protected:
  void SetUp() override {
    folder_.add("train/cat", 12);
    folder_.add("train/dog", 12);
    folder_.add("test/cat", 3);
    folder_.add("test/dog", 3);
  }
  std::string data(const std::string& options) const {
    return "--data 'images:path=" + folder_.path().string() + ",size=8" + options + "' ";
  }
  std::string weights(const std::string& args) {
    const Result r = tacit(kTrain + args + "--out a --overwrite --quiet");
    EXPECT_EQ(r.code, 0) << r.err;
    return slurp(path("a/model.safetensors"));
  }
  ImageFolder folder_;
};

TEST_F(ImagesOfTheProgram, TrainTheSameWeightsWithAnyNumberOfThreads) {
  const std::string once = weights(data(",threads=1") + "--workers 3 ");
  EXPECT_FALSE(once.empty());
  EXPECT_EQ(weights(data(",threads=4") + "--workers 3 "), once);
  EXPECT_NE(weights(data(",threads=4") + "--workers 3 --seed 2 "), once);
}

TEST_F(ImagesOfTheProgram, TrainTheSameWeightsWithSimulatedRanks) {
  if (tacit("simulate --cluster demo-8 --cost-only --model resnet50 --steps 1").code != 0)
    GTEST_SKIP() << "this build has no simulator";
  const std::string once = weights(data(",threads=2") + "--workers 3 ");
  std::string words =
      kTrain + data(",threads=2") + "--cluster demo-8 --workers 3 --out a --overwrite --quiet";
  const Result r = tacit(words.replace(0, std::string("train").size(), "simulate"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(slurp(path("a/model.safetensors")), once);
}

TEST_F(ImagesOfTheProgram, ThatAreBadAreNamedOnceAndCountedAtTheEnd) {
  folder_.spoil("train/dog/104.png");
  folder_.spoil("test/dog/102.png");
  const Result r = tacit(kTrain + data(",bad=0.2") + "--workers 2 --out a");
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char* part : {"train/dog/104.png cannot be used (it is neither a JPEG nor a PNG)",
                           "test/dog/102.png cannot be used", "1 of the 24 images", "1 of the 6 images"}) {
    const auto at = r.err.find(part);
    EXPECT_NE(at, std::string::npos) << part << "\n" << r.err;
    EXPECT_EQ(r.err.find(part, at + 1), std::string::npos) << part << "\n" << r.err;
  }
  const Result evaluated = tacit("evaluate a " + data(",bad=0.2"));
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_NE(evaluated.err.find("test/dog/102.png cannot be used"), std::string::npos) << evaluated.err;
}

TEST_F(ImagesOfTheProgram, OfWhichTooManyAreBadEndTheRunWithOneSentence) {
  for (int i = 0; i < 12; i += 2) folder_.spoil("train/dog/" + std::to_string(100 + i) + ".png");
  const Result r = tacit(kTrain + data("") + "--workers 2");
  EXPECT_EQ(r.code, 2) << r.err;
  EXPECT_NE(r.err.find("of the 24 images"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("bad=0.1 allows no more"), std::string::npos) << r.err;
}

TEST_F(ImagesOfTheProgram, ThatCannotBeListedAreRefused) {
  expect_refusal(std::string(kTrain) + "--data images:path=nowhere", {"nowhere is missing", "path=DIR"});
  expect_refusal(std::string(kTrain) + "--data images", {"images has no path"});
}

}  // namespace
}  // namespace tacit::test
