// SPDX-License-Identifier: MIT
// The data set `images`: what a batch depends on, and what becomes of files that cannot be used.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>

#include "support/image_folder.h"
#include "support/refusal.h"
#include "tacit/core/error.h"
#include "tacit/train/dataset.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;
using test::expect_parts;
using test::expect_refusal;
using test::flat_image;
using test::ImageFolder;
using Indices = std::vector<std::uint32_t>;

constexpr float kFirstMean = 0.485F;
constexpr float kFirstSpread = 0.229F;

DataPair load(const ImageFolder& folder, const std::string& options = "size=16") {
  return load_dataset("images:path=" + folder.path().string() + "," + options);
}

Indices first(std::size_t count) {
  Indices all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

Batch batch_of(const Dataset& data, std::int64_t epoch = 0, std::uint64_t seed = 1) {
  const Indices all = first(data.size());
  Batch batch;
  data.samples->gather({all, epoch, seed}, batch);
  return batch;
}

std::vector<float> sample(const Batch& batch, std::size_t i) {
  const std::size_t image = batch.shape.size();
  const auto begin = batch.images.begin() + static_cast<std::ptrdiff_t>(i * image);
  return {begin, begin + static_cast<std::ptrdiff_t>(image)};
}

// Two classes to train on, with 6 and 4 images, and one image of each to test on.
class Images : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.add("train/cat", 6);
    folder_.add("train/dog", 4);
    folder_.add("test/cat", 1);
    folder_.add("test/dog", 1);
  }
  ImageFolder folder_;
};

TEST_F(Images, AreListedByClass) {
  const DataPair data = load(folder_);
  EXPECT_EQ(data.train.shape, (ImageShape{3, 16, 16}));
  EXPECT_EQ(data.train.classes, 2);
  EXPECT_EQ(data.train.samples->labels(), (std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(data.test.samples->labels(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(batch_of(data.train).labels, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST_F(Images, AreTheSameBitsWithAnyNumberOfThreadsAndHoweverTheyWereAskedFor) {
  const Batch wanted = batch_of(load(folder_, "size=16,threads=1").train, 3, 7);
  for (const char* threads : {"2", "5"}) {
    const DataPair data = load(folder_, "size=16,threads=" + std::string(threads));
    const Indices all = first(data.train.size());
    data.train.samples->expect({all, 3, 7});
    EXPECT_EQ(batch_of(data.train, 3, 7).images, wanted.images);
    for (const std::uint32_t index : {9U, 2U}) {
      Batch one;
      data.train.samples->gather({std::array{index}, 3, 7}, one);
      EXPECT_EQ(one.images, sample(wanted, index));
    }
  }
}

TEST_F(Images, AreTheSameBitsForRanksThatAskAtOnce) {
  const DataPair data = load(folder_, "size=16,threads=2");
  const Batch wanted = batch_of(data.train, 1);
  std::vector<std::jthread> ranks;
  for (std::uint32_t rank = 0; rank < 5; ++rank)
    ranks.emplace_back([&, rank] {
      for (int turn = 0; turn < 4; ++turn) {
        const Indices mine{rank, rank + 5};
        Batch batch;
        data.train.samples->expect({mine, 1, 1});
        data.train.samples->gather({mine, 1, 1}, batch);
        EXPECT_EQ(sample(batch, 1), sample(wanted, rank + 5));
      }
    });
}

TEST_F(Images, ToTrainOnAreCroppedAnewInEachEpochAndWithEachSeed) {
  const DataPair data = load(folder_);
  const Batch once = batch_of(data.train, 1, 1);
  EXPECT_EQ(batch_of(data.train, 1, 1).images, once.images);
  EXPECT_EQ(batch_of(load(folder_).train, 1, 1).images, once.images);
  const Batch epoch = batch_of(data.train, 2, 1);
  const Batch seed = batch_of(data.train, 1, 2);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_NE(sample(epoch, i), sample(once, i));
    EXPECT_NE(sample(seed, i), sample(once, i));
  }
}

TEST_F(Images, ToTestOnAndThoseWithoutCropAndFlipAreAlwaysTheSame) {
  const DataPair data = load(folder_, "size=16,crop=middle,flip=false");
  EXPECT_EQ(batch_of(data.train, 2, 5).images, batch_of(data.train).images);
  const DataPair drawn = load(folder_);
  EXPECT_EQ(batch_of(drawn.test, 2, 5).images, batch_of(drawn.test).images);
}

TEST_F(Images, AreMirroredInHalfOfTheCases) {
  const Batch plain = batch_of(load(folder_, "size=16,crop=middle,flip=false").train);
  const Dataset flipping = load(folder_, "size=16,crop=middle").train;
  int mirrored = 0;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const Batch batch = batch_of(flipping, epoch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (sample(batch, i) == sample(plain, i)) continue;
      ++mirrored;
      std::vector<float> back = sample(batch, i);
      for (auto row = back.begin(); row != back.end(); row += 16) std::reverse(row, row + 16);
      ASSERT_EQ(back, sample(plain, i));
    }
  }
  EXPECT_GT(mirrored, 70);  // of 200; by chance fewer once in 10^5 seeds
  EXPECT_LT(mirrored, 130);
}

TEST_F(Images, AreScaledByTheMeansOfImageNet) {
  write_png(folder_.path("test/cat/100.png"), flat_image(30, 50, {255, 0, 51}));
  const Batch batch = batch_of(load(folder_).test);
  const std::vector<float> image = sample(batch, 0);
  for (std::size_t i = 0; i < 256; ++i) {
    ASSERT_NEAR(image[i], (1 - kFirstMean) / kFirstSpread, 1e-4F);
    ASSERT_NEAR(image[256 + i], -0.456F / 0.224F, 1e-4F);
    ASSERT_NEAR(image[512 + i], (0.2F - 0.406F) / 0.225F, 1e-4F);
  }
}

// The left half is black and the right half white; the middle square shows both.
TEST_F(Images, ToTestOnShowTheMiddleSquare) {
  test::RawImage halves{64, 32, 3, {}};
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 64 * 3; ++x) halves.values.push_back(x < 32 * 3 ? 0 : 255);
  write_png(folder_.path("test/cat/100.png"), halves);
  const std::vector<float> image = sample(batch_of(load(folder_).test), 0);
  for (std::size_t y = 0; y < 16; ++y)
    for (std::size_t x = 0; x < 16; ++x) {
      if (x == 7 || x == 8) continue;  // where they meet
      ASSERT_NEAR(image[y * 16 + x], ((x < 8 ? 0.0F : 1.0F) - kFirstMean) / kFirstSpread, 1e-4F) << x;
    }
}

TEST_F(Images, ThatAreLargeAndShrunkLookLikeTheirSmallOnes) {
  write_jpeg(folder_.path("test/cat/100.png"), test::smooth_image(640, 480, 0));  // read by what it is
  write_png(folder_.path("test/dog/100.png"), test::smooth_image(640, 480, 0));
  const Batch batch = batch_of(load(folder_).test);
  const std::vector<float> jpeg = sample(batch, 0);
  const std::vector<float> png = sample(batch, 1);
  for (std::size_t i = 0; i < 512; ++i) ASSERT_NEAR(jpeg[i], png[i], 0.1F) << i;  // 0.02 of a whole range
}

TEST_F(Images, ThatAreBadAreNamedCountedAndReplacedByTheNextFile) {
  const Batch good = batch_of(load(folder_).train, 1);
  folder_.spoil("train/cat/102.png");
  folder_.spoil("train/dog/103.jpg");  // the last file: the first takes its place
  const DataPair data = load(folder_, "size=16,bad=0.2");
  const Batch batch = batch_of(data.train, 1);
  EXPECT_EQ(batch.labels, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 0}));
  for (const std::size_t i : {0U, 1U, 3U, 8U}) EXPECT_EQ(sample(batch, i), sample(good, i));
  EXPECT_EQ(batch_of(load(folder_, "size=16,bad=0.2,threads=3").train, 1).images, batch.images);
  std::vector<std::string> said = data.train.samples->take_warnings(false);
  std::sort(said.begin(), said.end());
  ASSERT_EQ(said.size(), 2U);
  expect_parts(said[0],
               {"train/cat/102.png", "neither a JPEG nor a PNG", "the file after it takes its place"});
  expect_parts(said[1], {"train/dog/103.jpg"});
  batch_of(data.train, 2);
  EXPECT_TRUE(data.train.samples->take_warnings(false).empty());
  said = data.train.samples->take_warnings(true);
  ASSERT_EQ(said.size(), 1U);
  expect_parts(said[0], {"2 of the 10 images", "train", "could not be used"});
  EXPECT_TRUE(data.train.samples->take_warnings(true).empty());
}

TEST_F(Images, OfWhichManyAreBadAreNamedUpToANumber) {
  folder_.add("train/owl", 40);
  for (int i = 0; i < 20; ++i)
    folder_.spoil("train/owl/" + std::to_string(100 + i) + (i % 2 == 0 ? ".png" : ".jpg"));
  const DataPair data = load(folder_, "size=16,bad=0.5");
  batch_of(data.train);
  const std::vector<std::string> said = data.train.samples->take_warnings(true);
  ASSERT_EQ(said.size(), 10U);  // eight by name, that there are more, and how many
  expect_parts(said[8], {"more images"});
  expect_parts(said[9], {"20 of the 50 images"});
}

TEST_F(Images, OfWhichTooManyAreBadEndTheRun) {
  folder_.spoil("train/cat/102.png");
  folder_.spoil("train/cat/103.jpg");
  const DataPair data = load(folder_);
  expect_refusal([&] { batch_of(data.train); },
                 {"2 of the 10 images", "train/cat/10", "neither a JPEG", "bad=0.1", "mend or remove"});
  for (const auto& file : fs::recursive_directory_iterator(folder_.path("train")))
    if (file.is_regular_file()) test::write_file(file.path(), {});
  expect_refusal([&] { batch_of(load(folder_, "bad=1").train); }, {"none of the 10 images", "train"});
}

TEST_F(Images, ThatVanishOrAreHiddenAreBadFiles) {
  const DataPair data = load(folder_);
  fs::remove(folder_.path("train/cat/102.png"));
  batch_of(data.train);
  expect_parts(data.train.samples->take_warnings(false).at(0), {"train/cat/102.png", "No such file"});
}

TEST_F(Images, AreKnownByNameSizeAndTime) {
  const auto hash = [&] { return load(folder_).train.samples->hash(1); };
  const std::uint64_t before = hash();
  EXPECT_EQ(hash(), before);
  EXPECT_NE(load(folder_).test.samples->hash(1), before);
  EXPECT_NE(load(folder_).train.samples->hash(2), before);
  fs::last_write_time(folder_.path("train/cat/102.png"),
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  const std::uint64_t touched = hash();
  EXPECT_NE(touched, before);
  fs::rename(folder_.path("train/cat/102.png"), folder_.path("train/cat/099.png"));
  EXPECT_NE(hash(), touched);
}

TEST_F(Images, RefuseASampleThatIsNotThere) {
  const DataPair data = load(folder_);
  Batch batch;
  EXPECT_THROW(gather(data.train, Indices{10}, batch), Bug);
}

TEST(ImageFolders, MayHaveMoreThan256Classes) {
  ImageFolder folder;
  for (int i = 0; i < 300; ++i) folder.add("train/" + std::to_string(1000 + i), 1, 4, 4);
  folder.add("val/1299", 1);
  const DataPair data = load(folder, "size=8");
  EXPECT_EQ(data.train.classes, 300);
  EXPECT_EQ(batch_of(data.train).labels.back(), 299);
  EXPECT_EQ(batch_of(data.test).labels, (std::vector<std::int64_t>{299}));
}

// What a set of images is, by the pixels of its middle squares: as often as each is in it.
std::map<std::vector<float>, int> contents(const Dataset& data) {
  std::map<std::vector<float>, int> all;
  const Batch batch = batch_of(data);
  for (std::size_t i = 0; i < batch.size(); ++i) ++all[sample(batch, i)];
  return all;
}

TEST(ImageFolders, WithoutOneToTestOnHoldOutAPartBySeed) {
  ImageFolder folder;
  folder.add("cat", 15);
  folder.add("dog", 15);
  const std::string still = "size=8,crop=middle,flip=false";
  const DataPair tenth = load(folder, still);
  EXPECT_EQ(tenth.train.size(), 27U);
  EXPECT_EQ(tenth.test.size(), 3U);
  auto all = contents(tenth.train);
  for (const auto& [image, count] : contents(tenth.test)) all[image] += count;
  EXPECT_EQ(all.size(), 30U);
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const auto& each) { return each.second == 1; }));
  EXPECT_EQ(contents(load(folder, still).test), contents(tenth.test));
  EXPECT_NE(contents(load(folder, still + ",seed=2").test), contents(tenth.test));
  EXPECT_EQ(load(folder, still + ",test=0.5").test.size(), 15U);
  EXPECT_EQ(load(folder, still + ",holdout=4").test.size(), 4U);
  const DataPair limited = load(folder, still + ",limit=9");
  EXPECT_EQ(limited.train.size(), 9U);
  EXPECT_EQ(contents(limited.test), contents(tenth.test));
}

TEST(ImageFolders, PassOverWhatIsNoImageAndWhatIsHidden) {
  ImageFolder folder;
  folder.add("cat", 2);
  folder.add("dog", 2);
  folder.add(".trash", 2);
  fs::rename(folder.path("dog/100.png"), folder.path("dog/100.PNG"));
  folder.spoil("cat/.100.png");
  folder.spoil("cat/notes.txt");
  folder.spoil("notes.txt");
  fs::create_directory(folder.path("cat/more.jpg"));
  const DataPair data = load(folder, "size=8,test=0.25");
  EXPECT_EQ(data.train.classes, 2);
  EXPECT_EQ(data.train.size() + data.test.size(), 4U);
}

TEST(ImageFolders, OfWhichNothingCanBeLearnedAreRefused) {
  ImageFolder folder;
  const auto refused = [&](const std::vector<std::string>& parts, const std::string& options = "size=8") {
    expect_refusal([&] { load(folder, options); }, parts);
  };
  refused({folder.path().string(), "has no folder, which would be a class", "path=DIR"});
  folder.add("cat", 3);
  refused({"one class alone, cat"});
  fs::create_directory(folder.path("dog"));
  refused({"dog has no image", ".jpg, .jpeg or .png"});
  folder.add("dog", 3);
  refused({"holdout=6 leaves nothing of 6"}, "holdout=6");
  ImageFolder other;
  other.add("train/cat", 1);
  other.add("train/dog", 1);
  other.add("test/owl", 1);
  expect_refusal([&] { load(other); }, {"has the class owl", "give both the same classes"});
  fs::remove_all(other.path("test/owl"));
  fs::create_directory(other.path("test/cat"));
  expect_refusal([&] { load(other); }, {"has no image to test on"});
  other.add("test/cat", 1);
  expect_refusal([&] { load(other, "test=0.2"); }, {"test=...", "leave it out"});
}

TEST(ImageFolders, ThatAreNotThereOrMayNotBeReadAreRefusedByName) {
  expect_refusal([] { load_dataset("images"); }, {"images has no path", "path=DIR"});
  expect_refusal([] { load_dataset("images:path=/nonexistent"); }, {"/nonexistent is missing"});
  ImageFolder folder;
  folder.spoil("file");
  expect_refusal([&] { load_dataset("images:path=" + folder.path("file").string()); }, {"is not a folder"});
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  folder.add("cat", 1);
  folder.add("dog", 1);
  fs::permissions(folder.path("dog"), fs::perms::none);
  expect_refusal([&] { load(folder); }, {"dog may not be read by you"});
  fs::permissions(folder.path("dog"), fs::perms::owner_all);
}

TEST(ImageFolders, AreRefusedWithOptionsOutOfBounds) {
  expect_refusal([] { load_dataset("images:size=7"); }, {"size=7", "8"});
  expect_refusal([] { load_dataset("images:size=1025"); }, {"size=1025", "1024"});
  expect_refusal([] { load_dataset("images:bad=2"); }, {"bad=2"});
  expect_refusal([] { load_dataset("images:crop=left"); }, {"unknown crop 'left'", "random"});
  expect_refusal([] { load_dataset("images:crop=middle,area=0.5"); }, {"area", "crop=random"});
  expect_refusal([] { load_dataset("images:siez=64"); }, {"siez", "size"});
}

}  // namespace
}  // namespace tacit
