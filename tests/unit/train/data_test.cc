// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <set>

#include "support/image_bytes.h"
#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/train/dataset.h"
#include "train/data/synthetic.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;
using test::expect_parts;
using test::image_bytes;
using test::refusal;

TEST(Datasets, HaveDifferentNamesAndAreDescribed) {
  std::set<std::string> names;
  for (const DatasetInfo& each : builtin_datasets().all()) {
    EXPECT_TRUE(names.insert(canonical(each.name)).second) << each.name;
    EXPECT_FALSE(each.summary.empty()) << each.name;
    EXPECT_FALSE(each.paper.empty()) << each.name;
  }
  EXPECT_EQ(names.size(), builtin_datasets().names().size());
}

TEST(Datasets, SuggestTheNearestNameForAnUnknownOne) {
  expect_parts(refusal([] { load_dataset("fashion_minst"); }), {"unknown data set", "fashion-mnist"});
}

TEST(Datasets, RefuseUnknownOptionsBeforeTheyOpenAFile) {
  for (const std::string name : {"mnist", "cifar10", "fashion-mnist"})
    expect_parts(refusal([&] { load_dataset(name + ":path=/nonexistent,limt=3"); }), {"limt", "limit"});
  expect_parts(refusal([] { load_dataset("synthetic:sample=10"); }), {"sample", "samples"});
}

TEST(Datasets, AskForAPathWhereThereIsNoUsualPlace) {
  expect_parts(refusal([] { load_dataset("mnist"); }), {"mnist", "path=DIR"});
  expect_parts(refusal([] { load_dataset("cifar10"); }), {"cifar10", "path=DIR"});
  expect_parts(refusal([] { load_dataset("mnist:pth=/x"); }), {"pth", "path"});
}

TEST(Datasets, SayHowToGetFashionMnist) {
  expect_parts(refusal([] { load_dataset("fashion-mnist:path=/nonexistent"); }),
               {"/nonexistent", "install the Debian package dataset-fashion-mnist or give path=DIR"});
}

TEST(Datasets, ReadTheRealFashionMnist) {
  const fs::path place = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(place)) GTEST_SKIP() << place << " is absent: dataset-fashion-mnist is not installed";
  const DataPair pair = load_dataset("fashion-mnist");
  EXPECT_EQ(pair.train.size(), 60'000U);
  EXPECT_EQ(pair.test.size(), 10'000U);
  EXPECT_EQ(pair.train.shape, (ImageShape{1, 28, 28}));
  EXPECT_NEAR(image_bytes(pair.train).mean[0], 0.2860F, 1e-3F);
  EXPECT_NEAR(image_bytes(pair.train).spread[0], 0.3530F, 1e-3F);
  EXPECT_EQ(std::count(image_bytes(pair.train).labels.begin(), image_bytes(pair.train).labels.end(), 3),
            6000);
}

TEST(Synthetic, IsTheSameForTheSameSeed) {
  const DataPair a = load_dataset("synthetic:samples=50,test=20,seed=3");
  const DataPair b = load_dataset("synthetic:samples=50,test=20,seed=3");
  EXPECT_EQ(image_bytes(a.train).pixels, image_bytes(b.train).pixels);
  EXPECT_EQ(image_bytes(a.test).pixels, image_bytes(b.test).pixels);
}

TEST(Synthetic, DiffersForAnotherSeedAndBetweenTrainAndTest) {
  const DataPair a = load_dataset("synthetic:samples=20,test=20,seed=3");
  EXPECT_NE(image_bytes(a.train).pixels,
            image_bytes(load_dataset("synthetic:samples=20,test=20,seed=4").train).pixels);
  EXPECT_NE(image_bytes(a.train).pixels, image_bytes(a.test).pixels);
}

TEST(Synthetic, HasTheSameFirstSamplesWhateverTheirNumber) {
  const DataPair few = load_dataset("synthetic:samples=10,test=5");
  const DataPair many = load_dataset("synthetic:samples=30,test=9");
  EXPECT_TRUE(std::equal(image_bytes(few.train).pixels.begin(), image_bytes(few.train).pixels.end(),
                         image_bytes(many.train).pixels.begin()));
  EXPECT_TRUE(std::equal(image_bytes(few.test).pixels.begin(), image_bytes(few.test).pixels.end(),
                         image_bytes(many.test).pixels.begin()));
}

TEST(Synthetic, TakesTheShapeItIsAsked) {
  const DataPair pair = load_dataset("synthetic:samples=12,test=6,classes=4,channels=3,size=9");
  EXPECT_EQ(pair.train.shape, (ImageShape{3, 9, 9}));
  EXPECT_EQ(image_bytes(pair.train).pixels.size(), 12U * 3 * 9 * 9);
  EXPECT_EQ(pair.train.classes, 4);
  EXPECT_EQ(*std::max_element(image_bytes(pair.train).labels.begin(), image_bytes(pair.train).labels.end()),
            3);
}

TEST(Synthetic, RefusesWhatIsOutOfBounds) {
  expect_parts(refusal([] { load_dataset("synthetic:noise=-1"); }), {"noise=-1"});
  expect_parts(refusal([] { load_dataset("synthetic:channels=4"); }), {"channels=4", "[1, 3]"});
  expect_parts(refusal([] { load_dataset("synthetic:samples=10000000,size=512"); }),
               {"samples=10000000", "2 GiB"});
}

std::vector<std::uint32_t> first_indices(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

double dot(std::span<const float> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A linear model in closed form: the score of a class is <x, m> - |m|^2 / 2, where m is its mean image.
class MeanClassifier {
 public:
  MeanClassifier(const Batch& train, int classes)
      : means_(static_cast<std::size_t>(classes), std::vector<double>(train.shape.size())) {
    const std::size_t image = train.shape.size();
    std::vector<double> counts(means_.size());
    for (const std::int64_t label : train.labels) ++counts[static_cast<std::size_t>(label)];
    for (std::size_t i = 0; i < train.images.size(); ++i) {
      const auto label = static_cast<std::size_t>(train.labels[i / image]);
      means_[label][i % image] += static_cast<double>(train.images[i]) / counts[label];
    }
  }
  std::size_t predict(std::span<const float> x) const {
    std::vector<double> scores;
    for (const std::vector<double>& m : means_)
      scores.push_back(dot(x, m) - std::inner_product(m.begin(), m.end(), m.begin(), 0.0) / 2);
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }

 private:
  std::vector<std::vector<double>> means_;
};

TEST(Synthetic, CanBeLearntByALinearModel) {
  const DataPair pair = load_dataset("synthetic");
  Batch train;
  Batch test;
  gather(pair.train, first_indices(pair.train.size()), train);
  gather(pair.test, first_indices(pair.test.size()), test);
  const MeanClassifier model(train, pair.train.classes);
  const std::size_t image = test.shape.size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < test.size(); ++i)
    right += model.predict(std::span(test.images).subspan(i * image, image)) ==
             static_cast<std::size_t>(test.labels[i]);
  EXPECT_GT(right * 10, test.size() * 9);
}

TEST(Gather, GivesZeroMeanAndUnitSpreadPerChannelOnTheTrainSet) {
  const DataPair pair = load_dataset("synthetic:samples=200,test=1,channels=3,size=8");
  Batch batch;
  gather(pair.train, first_indices(pair.train.size()), batch);
  const std::size_t plane = 64;
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < batch.size(); ++i)
      for (std::size_t p = 0; p < plane; ++p) {
        const double x = batch.images[(i * 3 + c) * plane + p];
        sum += x;
        squares += x * x;
      }
    const auto count = static_cast<double>(batch.size() * plane);
    EXPECT_NEAR(sum / count, 0.0, 1e-4);
    EXPECT_NEAR(squares / count, 1.0, 1e-4);
  }
}

TEST(Gather, TakesTheAskedSamplesInTheAskedOrder) {
  const Dataset train = load_dataset("synthetic:samples=20,test=1,size=4").train;
  const ImageBytes& bytes = image_bytes(train);
  const std::vector<std::uint32_t> asked{13, 2, 13};
  Batch batch;
  gather(train, first_indices(9), batch);  // memory of another size is reused
  gather(train, asked, batch);
  EXPECT_EQ(batch.shape, train.shape);
  EXPECT_EQ(batch.labels, (std::vector<std::int64_t>{3, 2, 3}));
  ASSERT_EQ(batch.images.size(), 3U * 16U);
  for (std::size_t i = 0; i < batch.images.size(); ++i) {
    const float pixel = static_cast<float>(bytes.pixels[asked[i / 16] * 16 + i % 16]) / 255.0F;
    EXPECT_NEAR(batch.images[i], (pixel - bytes.mean[0]) / bytes.spread[0], 1e-5F);
  }
}

TEST(Gather, StaysFiniteWhereAllPixelsAreEqual) {
  ImageBytes data;
  data.shape = {1, 1, 2};
  data.classes = 1;
  data.pixels = {255, 255};
  data.labels = {0};
  data.mean[0] = 1.0F;
  Batch batch;
  gather(in_memory(data), first_indices(1), batch);
  EXPECT_EQ(batch.images, (std::vector<float>{0.0F, 0.0F}));
}

TEST(Gather, RefusesASampleThatIsNotThere) {
  const Dataset train = load_dataset("synthetic:samples=3,test=1,size=4").train;
  Batch batch;
  EXPECT_THROW(gather(train, std::vector<std::uint32_t>{3}, batch), Bug);
}

}  // namespace
}  // namespace tacit
