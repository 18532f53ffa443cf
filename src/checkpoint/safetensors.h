// SPDX-License-Identifier: MIT
// Tensors in the format that Python's safetensors reads: u64 length of a JSON header, the header, the tensors' bytes one
// behind the other; little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tacit/core/tensor_shape.h"
#include "tacit/core/views.h"

namespace tacit {

using Metadata = std::map<std::string, std::string>;

// One that is written: floats, or 64-bit integers.
struct SavedTensor {
  TensorShape shape;
  ConstFloatView floats{};
  std::span<const std::int64_t> integers{};  // where there are no floats
};

// Whole or not at all; on the disk when it returns. Returns the file's CRC-32. Throws Error.
std::uint32_t write_safetensors(const std::filesystem::path& file, std::span<const SavedTensor> tensors,
                                const Metadata& metadata);

// A file of tensors, whose header has been read and found right.
//
// Errors   InvalidConfig that names the file, and the tensor, and says what is wrong.
// Threads  one at a time.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::filesystem::path file);

  const Metadata& metadata() const { return metadata_; }
  // Of its tensors of 32-bit floats, in the order of the file.
  std::vector<std::string> float_names() const;
  bool has(const std::string& name) const;
  // The values of a tensor, which must have this name and shape.
  void read(const TensorShape& shape, FloatView into) const;
  void read(const TensorShape& shape, std::span<std::int64_t> into) const;

 private:
  struct Entry {
    std::string name;
    std::string type;  // "F32"
    std::vector<std::int64_t> sizes;
    std::uint64_t begin = 0;  // in the file
    std::uint64_t bytes = 0;
  };
  void read_header();
  const Entry& entry(const TensorShape& shape, const char* type) const;
  void read_bytes(const Entry& entry, Bytes into) const;
  [[noreturn]] void refuse(const std::string& why) const;

  const std::filesystem::path file_;
  Metadata metadata_;
  std::vector<Entry> entries_;
};

}  // namespace tacit
