// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>

#include "support/refusal.h"
#include "support/temp_dir.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "tacit/train/dataset.h"
#include "train/data/cifar10.h"
#include "train/data/idx.h"
#include "train/data/synthetic.h"

namespace tacit {
namespace {

using test::refusal;

namespace fs = std::filesystem;
using FileBytes = std::vector<std::uint8_t>;
using test::TempDir;

constexpr int kClasses = 10;
constexpr std::uint32_t kImagesMagic = 0x803;
constexpr std::uint32_t kLabelsMagic = 0x801;
constexpr std::size_t kCifarImage = 3072;

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
}

void write(const fs::path& path, const FileBytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

FileBytes read_back(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return FileBytes(std::istreambuf_iterator<char>(in), {});
}

void write_gz(const fs::path& path, const FileBytes& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

void put_big_endian(FileBytes& out, std::uint32_t x) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out.push_back(static_cast<std::uint8_t>(x >> shift));
}

FileBytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& dims, const FileBytes& values) {
  FileBytes out;
  put_big_endian(out, magic);
  for (const std::uint32_t dim : dims) put_big_endian(out, dim);
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

FileBytes first(const FileBytes& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

FileBytes ramp(std::size_t size) {
  FileBytes values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<std::uint8_t>(i * 37 % 256);
  return values;
}

// `count` images of 2 x 3 pixels and their labels 0, 1, 2, ...
FileBytes small_images(std::uint32_t count) { return idx(kImagesMagic, {count, 2, 3}, ramp(count * 6)); }
FileBytes small_labels(std::uint32_t count) {
  FileBytes values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint8_t>(i % kClasses);
  return idx(kLabelsMagic, {count}, values);
}

// A folder with one good pair of IDX files, of which a test spoils one.
class IdxFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    write(images_, small_images(4));
    write(labels_, small_labels(4));
  }
  Dataset read() const { return read_idx(images_, labels_, kClasses); }
  void expect_refusal(const std::vector<std::string>& parts) const {
    expect_parts(refusal([&] { read(); }), parts);
  }

  TempDir dir_;
  fs::path images_ = dir_.path() / "images";
  fs::path labels_ = dir_.path() / "labels";
};

TEST_F(IdxFiles, AreReadAsTheyLie) {
  const Dataset data = read();
  EXPECT_EQ(data.size(), 4U);
  EXPECT_EQ(data.shape, (ImageShape{1, 2, 3}));
  EXPECT_EQ(data.classes, kClasses);
  EXPECT_EQ(data.pixels, ramp(24));
  EXPECT_EQ(data.labels, (FileBytes{0, 1, 2, 3}));
}

TEST_F(IdxFiles, MayBeGzipped) {
  const Dataset plain = read();
  write_gz(images_, small_images(4));
  write_gz(labels_, small_labels(4));
  EXPECT_EQ(read().pixels, plain.pixels);
  EXPECT_EQ(read().labels, plain.labels);
}

TEST_F(IdxFiles, LargerThanOneReadAreReadWhole) {
  const FileBytes values = ramp(3 * 700 * 1000);
  write(images_, idx(kImagesMagic, {3, 700, 1000}, values));
  write(labels_, small_labels(3));
  EXPECT_EQ(read().pixels, values);
}

TEST_F(IdxFiles, ThatAreMissingAreNamed) {
  fs::remove(images_);
  expect_refusal({images_.string(), "is missing"});
}

TEST_F(IdxFiles, ThatAreFoldersAreRefused) {
  fs::remove(images_);
  fs::create_directory(images_);
  expect_refusal({images_.string(), "not a regular file"});
}

TEST_F(IdxFiles, ThatAreEmptyAreRefused) {
  write(labels_, {});
  expect_refusal({labels_.string(), "ends inside its IDX header"});
}

TEST_F(IdxFiles, WithAnotherMagicAreRefusedWithWhatWasFound) {
  write(images_, {'P', 'N', 'G', '!', 0, 0, 0, 0});
  expect_refusal({images_.string(), "not an IDX file", "0x504e4721", "0x00000803"});
}

TEST_F(IdxFiles, OfAnotherTypeAreRefused) {
  write(images_, idx(0x00000D03, {1, 2, 3}, ramp(24)));
  expect_refusal({images_.string(), "another type", "0x00000d03"});
}

TEST_F(IdxFiles, InTheWrongPlaceAreRefused) {
  write(images_, small_labels(4));
  expect_refusal({images_.string(), "an IDX file of labels", "give the IDX file of images"});
}

TEST_F(IdxFiles, CutInsideTheHeaderAreRefused) {
  write(images_, first(small_images(4), 10));
  expect_refusal({images_.string(), "ends inside its IDX header"});
}

TEST_F(IdxFiles, CutInsideTheValuesAreRefused) {
  write(images_, first(small_images(4), 16 + 19));
  expect_refusal({images_.string(), "ends after 19 of the 24 values"});
}

TEST_F(IdxFiles, WithTrailingBytesAreRefused) {
  FileBytes bytes = small_labels(4);
  bytes.push_back(0);
  write(labels_, bytes);
  expect_refusal({labels_.string(), "goes on after the 4 values"});
}

TEST_F(IdxFiles, WhoseGzipEndsEarlyAreRefusedWhereverItEnds) {
  write_gz(images_, small_images(4));
  const FileBytes whole = read_back(images_);
  for (std::size_t size = 4; size < whole.size(); ++size) {
    write(images_, first(whole, size));
    SCOPED_TRACE(size);
    expect_refusal({images_.string(), "ends in the middle of its gzip stream"});
  }
}

TEST_F(IdxFiles, WhoseGzipIsCorruptAreRefused) {
  write_gz(images_, small_images(4));
  FileBytes bytes = read_back(images_);
  bytes[bytes.size() - 8] ^= 0xFFU;  // the checksum
  write(images_, bytes);
  expect_refusal({images_.string(), "corrupt gzip"});
}

TEST_F(IdxFiles, WithoutImagesAreRefused) {
  write(images_, idx(kImagesMagic, {0, 28, 28}, {}));
  expect_refusal({images_.string(), "holds no images"});
}

TEST_F(IdxFiles, OfAbsurdSizeAreRefused) {
  write(images_, idx(kImagesMagic, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, ramp(24)));
  expect_refusal({images_.string(), "2^31"});
  write(images_, idx(kImagesMagic, {1, 1U << 16U, 1U << 15U}, ramp(24)));
  expect_refusal({images_.string(), "2^31"});
}

TEST_F(IdxFiles, ThatAnnounceGigabytesAreReadOnlyAsFarAsTheyGo) {
  write(images_, idx(kImagesMagic, {2'000'000, 32, 32}, ramp(24)));
  expect_refusal({images_.string(), "ends after 24 of the 2048000000 values"});
}

TEST_F(IdxFiles, WithDifferentCountsAreRefused) {
  write(labels_, small_labels(3));
  expect_refusal({images_.string(), labels_.string(), "4 images", "3 labels"});
}

TEST_F(IdxFiles, WithALabelBeyondTheClassesAreRefused) {
  write(labels_, idx(kLabelsMagic, {4}, {0, 9, 10, 1}));
  expect_refusal({labels_.string(), "sample 2", "label 10", "0 to 9"});
}

FileBytes cifar_batch(std::size_t records, std::uint8_t first_label) {
  FileBytes bytes;
  for (std::size_t i = 0; i < records; ++i) {
    bytes.push_back(static_cast<std::uint8_t>((first_label + i) % kClasses));
    bytes.insert(bytes.end(), kCifarImage, static_cast<std::uint8_t>(first_label * 10 + i));
  }
  return bytes;
}

// A folder with six good batches: two records in each train file, three in the test file.
class Cifar10Files : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint8_t i = 1; i <= 5; ++i)
      write(dir_.path() / ("data_batch_" + std::to_string(i) + ".bin"), cifar_batch(2, i));
    write(dir_.path() / "test_batch.bin", cifar_batch(3, 0));
  }
  void expect_refusal(const std::vector<std::string>& parts) const {
    expect_parts(refusal([&] { read_cifar10(dir_.path()); }), parts);
  }

  TempDir dir_;
  fs::path third_ = dir_.path() / "data_batch_3.bin";
};

TEST_F(Cifar10Files, AreReadInOrder) {
  const DataPair pair = read_cifar10(dir_.path());
  EXPECT_EQ(pair.train.shape, (ImageShape{3, 32, 32}));
  EXPECT_EQ(pair.train.labels, (FileBytes{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
  EXPECT_EQ(pair.train.pixels.size(), 10 * kCifarImage);
  EXPECT_EQ(pair.train.pixels[0], 10);
  EXPECT_EQ(pair.train.pixels.back(), 51);
  EXPECT_EQ(pair.test.labels, (FileBytes{0, 1, 2}));
}

TEST_F(Cifar10Files, LoadByNameWithStatisticsOfEveryChannel) {
  const DataPair pair = load_dataset("cifar10:path=" + dir_.path().string());
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(pair.train.mean[c], 30.5F / 255.0F, 1e-5F);
    EXPECT_GT(pair.train.spread[c], 0.0F);
  }
  EXPECT_EQ(pair.test.mean, pair.train.mean);
  EXPECT_EQ(pair.test.spread, pair.train.spread);
}

TEST_F(Cifar10Files, ThatAreMissingAreNamed) {
  fs::remove(third_);
  expect_refusal({third_.string(), "is missing", "path=DIR"});
}

TEST_F(Cifar10Files, ThatAreFoldersAreRefused) {
  fs::remove(third_);
  fs::create_directory(third_);
  expect_refusal({third_.string(), "not a regular file"});
}

TEST_F(Cifar10Files, ThatAreEmptyAreRefused) {
  write(third_, {});
  expect_refusal({third_.string(), "is empty"});
}

TEST_F(Cifar10Files, WithAPartOfARecordAreRefused) {
  FileBytes bytes = cifar_batch(2, 3);
  bytes.pop_back();
  write(third_, bytes);
  expect_refusal({third_.string(), "6145 bytes", "3073"});
}

TEST_F(Cifar10Files, WithALabelBeyondTheClassesAreRefused) {
  FileBytes bytes = cifar_batch(2, 3);
  bytes[3073] = 10;
  write(third_, bytes);
  expect_refusal({third_.string(), "record 1", "label 10"});
}

// A folder named as MNIST's, with and without .gz mixed.
class MnistFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    write(dir_.path() / "train-images-idx3-ubyte", small_images(20));
    write_gz(dir_.path() / "train-labels-idx1-ubyte.gz", small_labels(20));
    write_gz(dir_.path() / "t10k-images-idx3-ubyte.gz", small_images(5));
    write(dir_.path() / "t10k-labels-idx1-ubyte", small_labels(5));
  }
  std::string spec(const std::string& more = "") const { return "mnist:path=" + dir_.path().string() + more; }

  TempDir dir_;
};

TEST_F(MnistFolder, LoadsPlainAndGzippedFiles) {
  const DataPair pair = load_dataset(spec());
  EXPECT_EQ(pair.train.size(), 20U);
  EXPECT_EQ(pair.test.size(), 5U);
  EXPECT_EQ(pair.test.shape, pair.train.shape);
  EXPECT_EQ(pair.test.mean, pair.train.mean);
}

TEST_F(MnistFolder, ServesAnySetOfTheSameFiles) {
  EXPECT_EQ(load_dataset("fashion_mnist:path=" + dir_.path().string()).train.size(), 20U);
}

TEST_F(MnistFolder, IsCutToTheLimit) {
  const DataPair pair = load_dataset(spec(",limit=7"));
  EXPECT_EQ(pair.train.size(), 7U);
  EXPECT_EQ(pair.train.pixels.size(), 7U * 6U);
  EXPECT_EQ(pair.test.size(), 5U);
  EXPECT_EQ(load_dataset(spec(",limit=0")).train.size(), 20U);
  EXPECT_EQ(load_dataset(spec(",limit=1000")).train.size(), 20U);
}

TEST_F(MnistFolder, HoldsOutItsLastTrainingSamplesInPlaceOfTheTestSet) {
  const DataPair all = load_dataset(spec());
  const DataPair pair = load_dataset(spec(",holdout=3"));
  ASSERT_EQ(pair.train.size(), 17U);
  ASSERT_EQ(pair.test.size(), 3U);
  std::vector<std::uint8_t> labels = pair.train.labels;
  labels.insert(labels.end(), pair.test.labels.begin(), pair.test.labels.end());
  std::vector<std::uint8_t> pixels = pair.train.pixels;
  pixels.insert(pixels.end(), pair.test.pixels.begin(), pair.test.pixels.end());
  EXPECT_EQ(labels, all.train.labels);
  EXPECT_EQ(pixels, all.train.pixels);
  EXPECT_EQ(pair.test.mean, pair.train.mean);
  EXPECT_EQ(load_dataset(spec(",holdout=3,limit=5")).train.size(), 5U);
  EXPECT_EQ(load_dataset(spec(",holdout=0")).test.size(), 5U);
  expect_parts(refusal([&] { load_dataset(spec(",holdout=20")); }), {"holdout=20", "20 training samples"});
}

TEST_F(MnistFolder, WithTwoImageSizesIsRefused) {
  write_gz(dir_.path() / "t10k-images-idx3-ubyte.gz", idx(kImagesMagic, {5, 3, 3}, ramp(45)));
  expect_parts(refusal([&] { load_dataset(spec()); }), {dir_.path().string(), "2 x 3", "3 x 3"});
}

TEST_F(MnistFolder, WithoutAFileNamesItAndTheRemedy) {
  fs::remove(dir_.path() / "t10k-labels-idx1-ubyte");
  expect_parts(refusal([&] { load_dataset(spec()); }), {"t10k-labels-idx1-ubyte is missing", "path=DIR"});
}

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
  EXPECT_NEAR(pair.train.mean[0], 0.2860F, 1e-3F);
  EXPECT_NEAR(pair.train.spread[0], 0.3530F, 1e-3F);
  EXPECT_EQ(std::count(pair.train.labels.begin(), pair.train.labels.end(), 3), 6000);
}

TEST(Synthetic, IsTheSameForTheSameSeed) {
  const DataPair a = load_dataset("synthetic:samples=50,test=20,seed=3");
  const DataPair b = load_dataset("synthetic:samples=50,test=20,seed=3");
  EXPECT_EQ(a.train.pixels, b.train.pixels);
  EXPECT_EQ(a.test.pixels, b.test.pixels);
}

TEST(Synthetic, DiffersForAnotherSeedAndBetweenTrainAndTest) {
  const DataPair a = load_dataset("synthetic:samples=20,test=20,seed=3");
  EXPECT_NE(a.train.pixels, load_dataset("synthetic:samples=20,test=20,seed=4").train.pixels);
  EXPECT_NE(a.train.pixels, a.test.pixels);
}

TEST(Synthetic, HasTheSameFirstSamplesWhateverTheirNumber) {
  const DataPair few = load_dataset("synthetic:samples=10,test=5");
  const DataPair many = load_dataset("synthetic:samples=30,test=9");
  EXPECT_TRUE(std::equal(few.train.pixels.begin(), few.train.pixels.end(), many.train.pixels.begin()));
  EXPECT_TRUE(std::equal(few.test.pixels.begin(), few.test.pixels.end(), many.test.pixels.begin()));
}

TEST(Synthetic, TakesTheShapeItIsAsked) {
  const DataPair pair = load_dataset("synthetic:samples=12,test=6,classes=4,channels=3,size=9");
  EXPECT_EQ(pair.train.shape, (ImageShape{3, 9, 9}));
  EXPECT_EQ(pair.train.pixels.size(), 12U * 3 * 9 * 9);
  EXPECT_EQ(pair.train.classes, 4);
  EXPECT_EQ(*std::max_element(pair.train.labels.begin(), pair.train.labels.end()), 3);
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
  const std::vector<std::uint32_t> asked{13, 2, 13};
  Batch batch;
  gather(train, first_indices(9), batch);  // memory of another size is reused
  gather(train, asked, batch);
  EXPECT_EQ(batch.shape, train.shape);
  EXPECT_EQ(batch.labels, (std::vector<std::int64_t>{3, 2, 3}));
  ASSERT_EQ(batch.images.size(), 3U * 16U);
  for (std::size_t i = 0; i < batch.images.size(); ++i) {
    const float pixel = static_cast<float>(train.pixels[asked[i / 16] * 16 + i % 16]) / 255.0F;
    EXPECT_NEAR(batch.images[i], (pixel - train.mean[0]) / train.spread[0], 1e-5F);
  }
}

TEST(Gather, StaysFiniteWhereAllPixelsAreEqual) {
  Dataset data;
  data.shape = {1, 1, 2};
  data.classes = 1;
  data.pixels = {255, 255};
  data.labels = {0};
  data.mean[0] = 1.0F;
  Batch batch;
  gather(data, first_indices(1), batch);
  EXPECT_EQ(batch.images, (std::vector<float>{0.0F, 0.0F}));
}

TEST(Gather, RefusesASampleThatIsNotThere) {
  const Dataset train = load_dataset("synthetic:samples=3,test=1,size=4").train;
  Batch batch;
  EXPECT_THROW(gather(train, std::vector<std::uint32_t>{3}, batch), Bug);
}

using Indices = std::vector<std::uint32_t>;

Indices global_batch(Sampler& sampler, int ranks, std::int64_t epoch, std::int64_t step) {
  Indices all;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto mine = sampler.indices(epoch, step, rank);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return all;
}

Indices whole_epoch(Sampler& sampler, int ranks, std::int64_t epoch) {
  Indices all;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const Indices batch = global_batch(sampler, ranks, epoch, step);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(Sampler, ShowsEverySampleAtMostOnceInAnEpoch) {
  Sampler sampler(103, 5, 4, 1);
  EXPECT_EQ(sampler.steps_per_epoch(), 5);
  const Indices seen = whole_epoch(sampler, 4, 0);
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_LT(*std::max_element(seen.begin(), seen.end()), 103U);
}

TEST(Sampler, ShowsEverySampleWhereTheBatchesFitExactly) {
  Sampler sampler(100, 5, 4, 1);
  Indices seen = whole_epoch(sampler, 4, 2);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, first_indices(100));
}

TEST(Sampler, GivesTheSameGlobalBatchForAnyNumberOfRanks) {
  Sampler one(100, 16, 1, 7);
  Sampler two(100, 8, 2, 7);
  Sampler four(100, 4, 4, 7);
  for (std::int64_t step = 0; step < one.steps_per_epoch(); ++step) {
    const Indices alone = global_batch(one, 1, 3, step);
    EXPECT_EQ(alone, global_batch(two, 2, 3, step));
    EXPECT_EQ(alone, global_batch(four, 4, 3, step));
  }
}

TEST(Sampler, HasAnotherOrderInAnotherEpochOrWithAnotherSeed) {
  Sampler sampler(100, 10, 2, 7);
  Sampler other(100, 10, 2, 8);
  const Indices first = whole_epoch(sampler, 2, 0);
  EXPECT_NE(first, whole_epoch(sampler, 2, 1));
  EXPECT_NE(first, whole_epoch(other, 2, 0));
}

TEST(Sampler, RepeatsItselfForTheSameSeedWhateverWasAskedBefore) {
  Sampler resumed(100, 10, 2, 7);
  Sampler steady(100, 10, 2, 7);
  whole_epoch(steady, 2, 0);
  whole_epoch(steady, 2, 1);
  const Indices third = whole_epoch(steady, 2, 2);
  EXPECT_EQ(third, whole_epoch(resumed, 2, 2));
  whole_epoch(steady, 2, 0);
  EXPECT_EQ(third, whole_epoch(steady, 2, 2));
}

TEST(Sampler, SaysWhichBatchWouldFit) {
  expect_parts(refusal([] { Sampler(100, 64, 8, 1); }),
               {"batch of 64", "8 ranks", "100 samples", "batch of 12 per worker or less"});
  EXPECT_NO_THROW(Sampler(100, 12, 8, 1));
}

TEST(Sampler, RefusesMoreRanksThanSamplesAndEmptyBatches) {
  expect_parts(refusal([] { Sampler(3, 1, 4, 1); }), {"4 ranks", "3 samples", "more samples"});
  expect_parts(refusal([] { Sampler(3, 0, 1, 1); }), {"batch of 0"});
  EXPECT_THROW(Sampler(100, SIZE_MAX / 2, 4, 1), InvalidConfig);
}

TEST(Sampler, RefusesStepsAndRanksThatAreNotThere) {
  Sampler sampler(10, 2, 2, 1);
  EXPECT_THROW(sampler.indices(0, 2, 0), Bug);
  EXPECT_THROW(sampler.indices(0, 0, 2), Bug);
  EXPECT_THROW(sampler.indices(-1, 0, 0), Bug);
}

}  // namespace
}  // namespace tacit
