// SPDX-License-Identifier: MIT
// The secret of one job: whoever has it may join.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

namespace tacit {

// 256 bits, written as 64 hexadecimal digits. No message and no log ever shows one.
class JobKey {
 public:
  static constexpr std::size_t kBytes = 32;

  static JobKey random();
  // Each throws InvalidConfig where there is no key, and says what a key looks like.
  static JobKey from_hex(const std::string& text);
  // Refuses a file that others than its owner may read.
  static JobKey read_file(const std::filesystem::path& path);
  // A descriptor a launcher left open; it can be read again, by a program that runs several times. What this process
  // starts does not get it.
  static JobKey read_descriptor(int descriptor);

  std::string hex() const;
  const std::array<std::byte, kBytes>& bytes() const { return bytes_; }
  friend bool operator==(const JobKey&, const JobKey&) = default;

 private:
  std::array<std::byte, kBytes> bytes_{};
};

}  // namespace tacit
