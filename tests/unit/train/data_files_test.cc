// SPDX-License-Identifier: MIT
// Data sets that lie in files: read as they lie, refused with a reason where they are spoilt.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>

#include "support/image_bytes.h"
#include "support/refusal.h"
#include "support/temp_dir.h"
#include "tacit/core/error.h"
#include "tacit/train/dataset.h"
#include "train/data/cifar10.h"
#include "train/data/idx.h"

namespace tacit {
namespace {

using test::expect_parts;
using test::image_bytes;
using test::refusal;
using test::TempDir;

namespace fs = std::filesystem;
using FileBytes = std::vector<std::uint8_t>;

constexpr int kClasses = 10;
constexpr std::uint32_t kImagesMagic = 0x803;
constexpr std::uint32_t kLabelsMagic = 0x801;
constexpr std::size_t kCifarImage = 3072;

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
  ImageBytes read() const { return read_idx(images_, labels_, kClasses); }
  void expect_refusal(const std::vector<std::string>& parts) const {
    expect_parts(refusal([&] { read(); }), parts);
  }

  TempDir dir_;
  fs::path images_ = dir_.path() / "images";
  fs::path labels_ = dir_.path() / "labels";
};

TEST_F(IdxFiles, AreReadAsTheyLie) {
  const ImageBytes data = read();
  EXPECT_EQ(data.size(), 4U);
  EXPECT_EQ(data.shape, (ImageShape{1, 2, 3}));
  EXPECT_EQ(data.classes, kClasses);
  EXPECT_EQ(data.pixels, ramp(24));
  EXPECT_EQ(data.labels, (FileBytes{0, 1, 2, 3}));
}

TEST_F(IdxFiles, MayBeGzipped) {
  const ImageBytes plain = read();
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
  const BytesPair pair = read_cifar10(dir_.path());
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
    EXPECT_NEAR(image_bytes(pair.train).mean[c], 30.5F / 255.0F, 1e-5F);
    EXPECT_GT(image_bytes(pair.train).spread[c], 0.0F);
  }
  EXPECT_EQ(image_bytes(pair.test).mean, image_bytes(pair.train).mean);
  EXPECT_EQ(image_bytes(pair.test).spread, image_bytes(pair.train).spread);
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
  EXPECT_EQ(image_bytes(pair.test).mean, image_bytes(pair.train).mean);
}

TEST_F(MnistFolder, ServesAnySetOfTheSameFiles) {
  EXPECT_EQ(load_dataset("fashion_mnist:path=" + dir_.path().string()).train.size(), 20U);
}

TEST_F(MnistFolder, IsCutToTheLimit) {
  const DataPair pair = load_dataset(spec(",limit=7"));
  EXPECT_EQ(pair.train.size(), 7U);
  EXPECT_EQ(image_bytes(pair.train).pixels.size(), 7U * 6U);
  EXPECT_EQ(pair.test.size(), 5U);
  EXPECT_EQ(load_dataset(spec(",limit=0")).train.size(), 20U);
  EXPECT_EQ(load_dataset(spec(",limit=1000")).train.size(), 20U);
}

TEST_F(MnistFolder, HoldsOutItsLastTrainingSamplesInPlaceOfTheTestSet) {
  const DataPair all = load_dataset(spec());
  const DataPair pair = load_dataset(spec(",holdout=3"));
  ASSERT_EQ(pair.train.size(), 17U);
  ASSERT_EQ(pair.test.size(), 3U);
  std::vector<std::uint8_t> labels = image_bytes(pair.train).labels;
  labels.insert(labels.end(), image_bytes(pair.test).labels.begin(), image_bytes(pair.test).labels.end());
  std::vector<std::uint8_t> pixels = image_bytes(pair.train).pixels;
  pixels.insert(pixels.end(), image_bytes(pair.test).pixels.begin(), image_bytes(pair.test).pixels.end());
  EXPECT_EQ(labels, image_bytes(all.train).labels);
  EXPECT_EQ(pixels, image_bytes(all.train).pixels);
  EXPECT_EQ(image_bytes(pair.test).mean, image_bytes(pair.train).mean);
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

}  // namespace
}  // namespace tacit
