// SPDX-License-Identifier: MIT
#include "train/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTooManyBytes = std::uint64_t{1} << 31U;
constexpr std::size_t kChunk = std::size_t{1} << 20U;

struct Kind {
  std::uint32_t magic;
  const char* plural;
  std::size_t dimensions() const { return magic & 0xFFU; }
};
constexpr Kind kImages{0x00000803, "images"};
constexpr Kind kLabels{0x00000801, "labels"};

struct Idx {
  std::array<std::size_t, 3> dims{};
  std::vector<std::uint8_t> bytes;
};

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw InvalidConfig(file.string() + " " + what);
}

std::string hex(std::uint32_t x) {
  std::array<char, 11> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", x);
  return text.data();
}

// The bytes of a file, unpacked where it is gzipped.
class ByteFile {
 public:
  explicit ByteFile(fs::path path) : path_(std::move(path)) {
    const std::error_code error = reading_error(path_);
    if (is_missing(error)) refuse(path_, "is missing; check the path");
    if (error && error != std::errc::is_a_directory)
      throw InvalidConfig(unreadable(path_, error) + "; check its permissions");
    std::error_code ignored;
    if (!fs::is_regular_file(path_, ignored)) refuse(path_, "is not a regular file; give an IDX file");
    file_.reset(gzopen(path_.c_str(), "rb"));
    if (!file_)
      refuse(path_, std::string("cannot be opened (") + std::strerror(errno) + "); check its permissions");
  }

  const fs::path& path() const { return path_; }

  // Fills `to` as far as the file goes and returns how far that was.
  std::size_t read(std::span<std::uint8_t> to) {
    const int got = gzread(file_.get(), to.data(), static_cast<unsigned>(to.size()));
    if (got < static_cast<int>(to.size())) check_stream();
    return static_cast<std::size_t>(std::max(got, 0));
  }

  std::uint32_t big_endian() {
    std::array<std::uint8_t, 4> b{};
    if (read(b) < b.size()) refuse(path_, "ends inside its IDX header; download it again");
    return std::uint32_t{b[0]} << 24U | std::uint32_t{b[1]} << 16U | std::uint32_t{b[2]} << 8U | b[3];
  }

  // Grows with what is really there, so that a lying header cannot claim the memory.
  std::vector<std::uint8_t> body(std::size_t size) {
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < size) {
      const std::size_t begin = bytes.size();
      const std::size_t want = std::min(kChunk, size - begin);
      bytes.resize(begin + want);
      const std::size_t got = read(std::span(bytes).subspan(begin));
      if (got < want)
        refuse(path_, "ends after " + std::to_string(begin + got) + " of the " + std::to_string(size) +
                          " values its header announces; download it again");
    }
    return bytes;
  }

  // Reading past the last value also makes zlib verify the checksum behind it.
  void expect_end(std::size_t size) {
    std::array<std::uint8_t, 1> extra{};
    if (read(extra) > 0)
      refuse(path_,
             "goes on after the " + std::to_string(size) + " values its header announces; download it again");
  }

 private:
  // A short read is the end of the file only where zlib has no complaint.
  void check_stream() const {
    int code = Z_OK;
    gzerror(file_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_BUF_ERROR) refuse(path_, "ends in the middle of its gzip stream; download it again");
    if (code == Z_ERRNO)
      refuse(path_, std::string("cannot be read (") + std::strerror(errno) + "); check the disk it is on");
    refuse(path_, "holds corrupt gzip data; download it again");
  }

  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };
  fs::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

void check_magic(ByteFile& file, const Kind& kind) {
  const std::uint32_t magic = file.big_endian();
  if (magic == kind.magic) return;
  std::string found = "not an IDX file";
  for (const Kind& other : {kImages, kLabels})
    if (magic == other.magic) found = std::string("an IDX file of ") + other.plural;
  if (found == "not an IDX file" && magic >> 16U == 0)
    found = "an IDX file of another type or number of dimensions";
  refuse(file.path(), "is " + found + " (it begins with " + hex(magic) + "); give the IDX file of " +
                          kind.plural + ", which begins with " + hex(kind.magic));
}

Idx read_file(const fs::path& path, const Kind& kind) {
  ByteFile file(path);
  check_magic(file, kind);
  Idx idx;
  std::uint64_t size = 1;
  for (std::size_t d = 0; d < kind.dimensions(); ++d) {
    idx.dims[d] = file.big_endian();
    if (idx.dims[d] == 0) refuse(path, std::string("holds no ") + kind.plural + "; give a file that does");
    size *= idx.dims[d];  // below 2^31 * 2^32
    if (size >= kTooManyBytes)
      refuse(path, "announces 2^31 values or more, which is beyond any set read here; download it again");
  }
  idx.bytes = file.body(size);
  file.expect_end(size);
  return idx;
}

void check_labels(const fs::path& path, const std::vector<std::uint8_t>& labels, int classes) {
  const auto bad = std::find_if(labels.begin(), labels.end(), [&](int label) { return label >= classes; });
  if (bad == labels.end()) return;
  refuse(path, "gives sample " + std::to_string(bad - labels.begin()) + " the label " + std::to_string(*bad) +
                   "; give a file with labels from 0 to " + std::to_string(classes - 1));
}

}  // namespace

ImageBytes read_idx(const fs::path& images, const fs::path& labels, int classes) {
  // The small file first: most mistakes show there at once.
  Idx label_file = read_file(labels, kLabels);
  check_labels(labels, label_file.bytes, classes);
  Idx image_file = read_file(images, kImages);
  const auto [count, height, width] = image_file.dims;
  if (count != label_file.dims[0])
    refuse(images, "holds " + std::to_string(count) + " images but " + labels.string() + " holds " +
                       std::to_string(label_file.dims[0]) + " labels; give two files of the same set");
  ImageBytes data;
  data.shape = {1, static_cast<int>(height), static_cast<int>(width)};
  data.classes = classes;
  data.pixels = std::move(image_file.bytes);
  data.labels = std::move(label_file.bytes);
  return data;
}

}  // namespace tacit
