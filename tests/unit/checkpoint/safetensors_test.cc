// SPDX-License-Identifier: MIT
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "checkpoint/checksum.h"
#include "support/refusal.h"
#include "support/temp_dir.h"
#include "support/whole_files.h"

namespace tacit::test {
namespace {

namespace fs = std::filesystem;

class Safetensors : public ::testing::Test {
 protected:
  std::uint32_t write() {
    return write_safetensors(file_,
                             std::vector<SavedTensor>{{{"weight", {2, 3}}, weight_},
                                                      {{"steps", {}}, {}, steps_},
                                                      {{"bias", {2}}, bias_},
                                                      {{"nothing", {0, 4}}, {}}},
                             {{"made", "here"}});
  }

  TempDir folder_;
  const fs::path file_ = folder_.path() / "model.safetensors";
  const std::vector<float> weight_{1, 2, 3, -4, 5.5F, 6};
  const std::vector<float> bias_{7, -8};
  const std::vector<std::int64_t> steps_{12};
};

// Read here as the format's description says, without the reader.
TEST_F(Safetensors, AFileIsALengthAHeaderAndTheValuesOneBehindTheOther) {
  write();
  const std::string all = bytes_in(file_);
  std::uint64_t size = 0;
  std::memcpy(&size, all.data(), 8);
  EXPECT_EQ(size % 8, 0U);
  const auto header = nlohmann::json::parse(all.substr(8, size));
  const auto wanted = nlohmann::json::parse(R"({
    "__metadata__": {"made": "here"},
    "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "steps": {"dtype": "I64", "shape": [], "data_offsets": [24, 32]},
    "bias": {"dtype": "F32", "shape": [2], "data_offsets": [32, 40]},
    "nothing": {"dtype": "F32", "shape": [0, 4], "data_offsets": [40, 40]}})");
  EXPECT_EQ(header, wanted);
  ASSERT_EQ(all.size(), 8 + size + 40);
  std::vector<float> weight(6);
  std::memcpy(weight.data(), all.data() + 8 + size, 24);
  EXPECT_EQ(weight, weight_);
}

TEST_F(Safetensors, TheChecksumOfWhatWasWrittenIsThatOfTheFile) {
  const std::uint32_t crc = write();
  EXPECT_EQ(crc, file_crc(file_));
}

TEST_F(Safetensors, WhatWasWrittenIsRead) {
  write();
  const SafetensorsFile file(file_);
  EXPECT_EQ(file.metadata(), (Metadata{{"made", "here"}}));
  EXPECT_EQ(file.float_names(), (std::vector<std::string>{"weight", "bias", "nothing"}));
  std::vector<float> weight(6);
  std::vector<std::int64_t> steps(1);
  file.read({"weight", {2, 3}}, FloatView(weight));
  file.read({"steps", {}}, std::span(steps));
  EXPECT_EQ(weight, weight_);
  EXPECT_EQ(steps, steps_);
}

TEST_F(Safetensors, OtherNamesShapesAndTypesAreNamed) {
  write();
  const SafetensorsFile file(file_);
  std::vector<float> six(6);
  expect_refusal(
      [&] {
        file.read({"height", {2, 3}}, FloatView(six));
      },
      {"model.safetensors", "'height'", "2 x 3"});
  expect_refusal([&] { file.read({"weight", {3, 2}}, FloatView(six)); }, {"'weight'", "2 x 3", "3 x 2"});
  expect_refusal([&] { file.read({"steps", {}}, FloatView(six)); }, {"'steps'", "I64", "F32"});
}

TEST_F(Safetensors, AFileThatIsCutShortAnywhereIsRefused) {
  write();
  const std::string whole = bytes_in(file_);
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    put(file_, whole.substr(0, kept));
    EXPECT_THROW(SafetensorsFile{file_}, InvalidConfig) << kept;
  }
}

TEST_F(Safetensors, NonsenseIsRefused) {
  const std::string huge = std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}";
  const std::string list = std::string("\x02\0\0\0\0\0\0\0", 8) + "[]";
  const std::string no_shape = std::string("\x20\0\0\0\0\0\0\0", 8) + R"({"a":{"dtype":"F32"}}           )";
  for (const std::string& bytes : {std::string(), std::string("PK"), huge, no_shape}) {
    put(file_, bytes);
    expect_refusal([&] { SafetensorsFile{file_}; }, {file_.string(), "safetensors"});
  }
  put(file_, list);
  EXPECT_TRUE(SafetensorsFile(file_).float_names().empty());
  expect_refusal([&] { SafetensorsFile{folder_.path() / "none"}; }, {"none is missing"});
  expect_refusal([&] { SafetensorsFile{folder_.path()}; }, {"is a folder"});
}

}  // namespace
}  // namespace tacit::test
