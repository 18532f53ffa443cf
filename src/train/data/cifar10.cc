// SPDX-License-Identifier: MIT
#include "train/data/cifar10.h"

#include <fstream>
#include <system_error>

#include "core/files.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

constexpr ImageShape kShape{3, 32, 32};
constexpr int kClasses = 10;
constexpr int kTrainFiles = 5;
constexpr std::size_t kImageBytes = std::size_t{3} * 32 * 32;
constexpr std::size_t kRecordBytes = 1 + kImageBytes;
constexpr std::uintmax_t kTooManyBytes = std::uintmax_t{1} << 31U;

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw InvalidConfig(file.string() + " " + what);
}

std::size_t count_records(const fs::path& file) {
  const std::error_code error = reading_error(file);
  if (is_missing(error))
    refuse(file,
           "is missing; give path=DIR, the folder with the six .bin files of CIFAR-10's binary version");
  if (error && error != std::errc::is_a_directory)
    throw InvalidConfig(unreadable(file, error) + "; check its permissions");
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) refuse(file, "is not a regular file; give a CIFAR-10 batch");
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  if (failed) refuse(file, "cannot be read (" + failed.message() + "); check its permissions");
  if (size == 0) refuse(file, "is empty; download it again");
  if (size % kRecordBytes != 0)
    refuse(file, "has " + std::to_string(size) + " bytes, which is no multiple of the " +
                     std::to_string(kRecordBytes) + " of a CIFAR-10 record; unpack or download it again");
  if (size >= kTooManyBytes) refuse(file, "has 2^31 bytes or more; give a CIFAR-10 batch");
  return static_cast<std::size_t>(size / kRecordBytes);
}

void append(const fs::path& file, ImageBytes& data) {
  const std::size_t records = count_records(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "cannot be opened; check its permissions");
  std::vector<char> record(kRecordBytes);
  for (std::size_t i = 0; i < records; ++i) {
    if (!in.read(record.data(), static_cast<std::streamsize>(record.size())))
      refuse(file, "ended while it was read, in record " + std::to_string(i) + "; check the disk it is on");
    const auto label = static_cast<std::uint8_t>(record[0]);
    if (label >= kClasses)
      refuse(file, "gives record " + std::to_string(i) + " the label " + std::to_string(label) +
                       "; give a CIFAR-10 batch, whose labels are 0 to 9");
    data.labels.push_back(label);
    data.pixels.insert(data.pixels.end(), record.begin() + 1, record.end());
  }
}

ImageBytes empty_set() {
  ImageBytes data;
  data.shape = kShape;
  data.classes = kClasses;
  return data;
}

}  // namespace

BytesPair read_cifar10(const fs::path& directory) {
  BytesPair pair{empty_set(), empty_set()};
  for (int i = 1; i <= kTrainFiles; ++i)
    append(directory / ("data_batch_" + std::to_string(i) + ".bin"), pair.train);
  append(directory / "test_batch.bin", pair.test);
  return pair;
}

}  // namespace tacit
