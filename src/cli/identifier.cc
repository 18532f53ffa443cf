// SPDX-License-Identifier: MIT
#include "cli/identifier.h"

#include <array>
#include <fstream>
#include <span>

#include "core/files.h"
#include "core/hash.h"
#include "tacit/core/error.h"
#include "tacit/core/version.h"
#include "tacit/train/dataset.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

std::uint64_t hash_file(const fs::path& file, std::uint64_t hash) {
  if (const std::error_code error = reading_error(file)) throw InvalidConfig(unreadable(file, error));
  std::ifstream in(file, std::ios::binary);
  std::array<char, 1 << 16> some{};
  while (in.read(some.data(), some.size()) || in.gcount() > 0)
    hash = hash_bytes(std::as_bytes(std::span(some).first(static_cast<std::size_t>(in.gcount()))), hash);
  if (!in.eof()) throw InvalidConfig(file.string() + " cannot be read to its end");
  return hash;
}

std::uint64_t hash_data(const Dataset& data, std::uint64_t hash) {
  const std::array<int, 4> shape{data.shape.channels, data.shape.height, data.shape.width, data.classes};
  hash = hash_bytes(std::as_bytes(std::span(shape)), hash);
  return data.samples->hash(hash);
}

// Without the two that are no part of it.
std::string options_of(const SimulateSettings& settings) {
  std::string text;
  const std::vector<std::string> words = command_line(settings);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--out" || words[i] == "--cluster") {
      ++i;  // and its value
    } else {
      text += (text.empty() ? "" : " ") + words[i];
    }
  }
  return text;
}

}  // namespace

Identifier::Identifier()
    : program_(version() + " " + hash_text(hash_file("/proc/self/exe", hash_bytes({})))) {}

Identity Identifier::operator()(const SimulateSettings& s) {
  return {options_of(s), cluster(s.cluster), s.cost_only ? "" : data(s.training.data), program_};
}

const std::string& Identifier::data(const std::string& spec) {
  const auto [entry, is_new] = data_.try_emplace(spec);
  if (is_new) {
    const DataPair pair = load_dataset(spec);
    entry->second = hash_text(hash_data(pair.test, hash_data(pair.train, hash_bytes({}))));
  }
  return entry->second;
}

const std::string& Identifier::cluster(const fs::path& file) {
  const auto [entry, is_new] = clusters_.try_emplace(file);
  if (is_new) {
    const Cluster read = read_cluster(file);
    std::uint64_t hash = hash_file(file, hash_bytes({}));
    if (!read.platform.empty()) hash = hash_file(read.platform, hash);
    hash = hash_bytes(std::as_bytes(std::span(read.trace)), hash);
    entry->second = hash_text(hash);
  }
  return entry->second;
}

}  // namespace tacit::cli
