// SPDX-License-Identifier: MIT
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/checksum.h"
#include "core/files.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

constexpr const char* kMetadata = "__metadata__";
constexpr const char* kFloats = "F32";
constexpr const char* kIntegers = "I64";
constexpr std::uint64_t kMostHeader = 100'000'000;  // bytes, as Python's reader has it
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kAtOnce = 1 << 20;  // floats that are fetched from another space together

std::size_t size_of(const SavedTensor& t) {
  return t.floats.empty() ? t.integers.size_bytes() : t.floats.size_bytes();
}

std::string header_of(std::span<const SavedTensor> tensors, const Metadata& metadata) {
  Json header;
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::size_t at = 0;
  for (const SavedTensor& t : tensors) {
    const std::size_t end = at + size_of(t);
    header[t.shape.name] = {{"dtype", t.integers.empty() ? kFloats : kIntegers},
                            {"shape", t.shape.sizes},
                            {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

class SummedFile {
 public:
  explicit SummedFile(LongFile& out) : out_(out) {}
  void write(ConstBytes data) {
    crc_ = crc_of(data, crc_);
    out_.write(data);
  }
  void write(ConstFloatView x) {
    std::vector<float> here(std::min(x.size(), kAtOnce));  // x may lie elsewhere
    for (std::size_t at = 0; at < x.size(); at += kAtOnce) {
      const ConstFloatView some = x.subspan(at, std::min(kAtOnce, x.size() - at));
      copy(some, FloatView(here).first(some.size()));
      write(std::as_bytes(std::span<const float>(here).first(some.size())));
    }
  }
  std::uint32_t crc() const { return crc_; }

 private:
  LongFile& out_;
  std::uint32_t crc_ = 0;
};

}  // namespace

std::uint32_t write_safetensors(const fs::path& file, std::span<const SavedTensor> tensors,
                                const Metadata& metadata) {
  for (const SavedTensor& t : tensors)
    TACIT_CHECK(t.shape.count() == (t.floats.empty() ? t.integers.size() : t.floats.size()),
                "tensor '" + t.shape.name + "' is not of its shape");
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t size = header.size();
  std::uint32_t crc = 0;
  write_whole_file(file, [&](LongFile& long_file) {
    SummedFile out(long_file);
    out.write(std::as_bytes(std::span(&size, 1)));
    out.write(std::as_bytes(std::span(header)));
    for (const SavedTensor& t : tensors) {
      out.write(t.floats);
      out.write(std::as_bytes(t.integers));
    }
    crc = out.crc();
  });
  return crc;
}

SafetensorsFile::SafetensorsFile(fs::path file) : file_(std::move(file)) {
  if (const std::error_code error = reading_error(file_))
    throw InvalidConfig(unreadable(file_, error) +
                        "; give a model that was saved, such as model.safetensors");
  try {
    read_header();
  } catch (const Json::exception&) {
    refuse("its header is not what the format has");
  }
}

void SafetensorsFile::refuse(const std::string& why) const {
  throw InvalidConfig(file_.string() + ": " + why + "; give a whole file in the format safetensors");
}

void SafetensorsFile::read_header() {
  std::ifstream in(file_, std::ios::binary | std::ios::ate);
  const auto all = static_cast<std::uint64_t>(std::max<std::streamoff>(0, in.tellg()));
  in.seekg(0);
  std::uint64_t size = 0;
  if (!in.read(reinterpret_cast<char*>(&size), sizeof size)) refuse("it has no header");
  if (size > kMostHeader || size > all - sizeof size) refuse("its header ends behind the file");
  std::string text(size, ' ');
  if (!in.read(text.data(), static_cast<std::streamsize>(size))) refuse("its header cannot be read");
  const Json header = Json::parse(text);
  const std::uint64_t first = sizeof size + size;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) {
      metadata_ = value.get<Metadata>();
      continue;
    }
    Entry entry{name, value.at("dtype").get<std::string>(),
                value.at("shape").get<std::vector<std::int64_t>>()};
    const auto [begin, end] = value.at("data_offsets").get<std::pair<std::uint64_t, std::uint64_t>>();
    if (begin > end || end > all - first)
      refuse("tensor '" + name + "' ends behind the file, which has " + std::to_string(all) + " bytes");
    entry.begin = first + begin;
    entry.bytes = end - begin;
    entries_.push_back(std::move(entry));
  }
}

std::vector<std::string> SafetensorsFile::float_names() const {
  std::vector<std::string> all;
  for (const Entry& each : entries_)
    if (each.type == kFloats) all.push_back(each.name);
  return all;
}

bool SafetensorsFile::has(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
}

const SafetensorsFile::Entry& SafetensorsFile::entry(const TensorShape& shape, const char* type) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == shape.name; });
  const auto other = [&](const std::string& why) {
    throw InvalidConfig(file_.string() + ": " + why + "; is it another model's?");
  };
  if (found == entries_.end()) other("it has no tensor '" + shape.name + "' of " + shape.text());
  if (found->type != type)
    refuse("tensor '" + shape.name + "' is of type " + found->type + " where " + type + " is wanted");
  if (found->sizes != shape.sizes)
    other("tensor '" + shape.name + "' is of " + TensorShape{"", found->sizes}.text() + " where " +
          shape.text() + " is wanted");
  return *found;
}

void SafetensorsFile::read_bytes(const Entry& entry, Bytes into) const {
  if (entry.bytes != into.size())
    refuse("tensor '" + entry.name + "' has " + std::to_string(entry.bytes) + " bytes where its shape has " +
           std::to_string(into.size()));
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(entry.begin));
  if (!in.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size())))
    refuse("tensor '" + entry.name + "' cannot be read");
}

void SafetensorsFile::read(const TensorShape& shape, FloatView into) const {
  std::vector<float> here(into.size());
  read_bytes(entry(shape, kFloats), std::as_writable_bytes(std::span(here)));
  copy(here, into);
}

void SafetensorsFile::read(const TensorShape& shape, std::span<std::int64_t> into) const {
  read_bytes(entry(shape, kIntegers), std::as_writable_bytes(into));
}

}  // namespace tacit
