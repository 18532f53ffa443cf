// SPDX-License-Identifier: MIT
#include "checkpoint/store.h"

#include <gtest/gtest.h>

#include "checkpoint/state_file.h"
#include "support/refusal.h"
#include "support/temp_dir.h"
#include "support/whole_files.h"

namespace tacit::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::byte> kState{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{250}};
const std::vector<ConstBytes> kPieces{ConstBytes(kState).first(1), {}, ConstBytes(kState).subspan(1)};

TEST(StateFile, IsReadAsItWasWritten) {
  const TempDir folder;
  const fs::path file = folder.path() / state_file_name(3);
  write_state(file, {.job = 77, .step = 1200, .rank = 3, .ranks = 8}, kPieces);
  const StateHeader header = read_state_header(file);
  EXPECT_EQ(header.job, 77U);
  EXPECT_EQ(header.step, 1200);
  EXPECT_EQ(header.rank, 3);
  EXPECT_EQ(header.ranks, 8);
  EXPECT_EQ(header.bytes, 4U);
  EXPECT_EQ(read_state(file), kState);
}

TEST(StateFile, ThatIsCutShortOrChangedAnywhereIsRefused) {
  const TempDir folder;
  const fs::path file = folder.path() / "rank-0.state";
  write_state(file, {.job = 77, .step = 5, .rank = 0, .ranks = 1}, kPieces);
  const std::string whole = bytes_in(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    put(file, whole.substr(0, at));
    EXPECT_THROW(read_state(file), InvalidConfig) << "cut at " << at;
  }
  for (std::size_t at = whole.size() - kState.size(); at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 4);
    put(file, other);
    expect_refusal([&] { read_state(file); }, {file.string(), "damaged", "checksum"});
  }
  std::string older = whole;
  older[7] = '0';
  put(file, older);
  expect_refusal([&] { read_state(file); }, {"another version"});
  expect_refusal([&] { read_state(folder.path() / "rank-9.state"); }, {"rank-9.state is missing"});
}

class Store : public ::testing::Test {
 protected:
  Manifest manifest(std::int64_t step) const {
    return {"0.1.0", kJob, step, 2, {{"--lr", "0.02"}, {"--compress", ""}}, {}};
  }
  void write(std::int64_t step) const {
    const fs::path draft = store_.draft(kJob, step);
    for (int rank = 0; rank < 2; ++rank)
      write_state(draft / state_file_name(rank), {.job = kJob, .step = step, .rank = rank, .ranks = 2},
                  kPieces);
  }
  static constexpr std::uint64_t kJob = 0xABCD'0000'0000'0001;
  TempDir folder_;
  const CheckpointStore store_{folder_.path() / "checkpoints"};
};

TEST_F(Store, ACheckpointIsThereOnceItIsWhole) {
  store_.make();
  EXPECT_TRUE(store_.steps().empty());
  write(100);
  EXPECT_TRUE(store_.steps().empty());  // a draft is none
  store_.commit(manifest(100));
  EXPECT_EQ(store_.steps(), (std::vector<std::int64_t>{100}));
  const Manifest read = read_manifest(store_.place(100) / Manifest::kName);
  EXPECT_EQ(read.job, kJob);
  EXPECT_EQ(read.step, 100);
  EXPECT_EQ(read.ranks, 2);
  EXPECT_EQ(read.settings, manifest(100).settings);
  ASSERT_EQ(read.files.size(), 2U);
  for (const Manifest::File& each : read.files)
    EXPECT_NO_THROW(check_file(store_.place(100), read, each.name));
  expect_refusal([&] { check_file(store_.place(100), read, "rank-2.state"); },
                 {"rank-2.state", "not in the manifest"});
  put(store_.place(100) / "rank-1.state", "x");
  expect_refusal([&] { check_file(store_.place(100), read, "rank-1.state"); },
                 {"rank-1.state has 1 bytes", "52"});
}

TEST_F(Store, TheNewestAreKeptAndWhatDiedGoes) {
  store_.make();
  for (const std::int64_t step : {9, 100, 1000, 20}) {
    write(step);
    store_.commit(manifest(step));
  }
  write(1001);
  put(store_.folder() / "mine.txt", "not Tacit's");
  fs::create_directory(store_.folder() / "step-best");
  EXPECT_EQ(store_.steps(), (std::vector<std::int64_t>{1000, 100, 20, 9}));
  store_.keep(2);
  EXPECT_EQ(store_.steps(), (std::vector<std::int64_t>{1000, 100}));
  EXPECT_FALSE(fs::exists(store_.place(20)));
  store_.drop_drafts();
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator(store_.folder())) ++left;
  EXPECT_EQ(left, 4U);  // two checkpoints and what is a user's own
  write(1000);          // again, by a run that was resumed from an older one
  store_.commit(manifest(1000));
  EXPECT_EQ(store_.steps().front(), 1000);
}

TEST_F(Store, AFolderThatCannotBeIsRefused) {
  put(folder_.path() / "file", "");
  expect_refusal([&] { CheckpointStore(folder_.path() / "file").make(); }, {"--checkpoint"});
  expect_refusal([&] { CheckpointStore(folder_.path() / "file" / "in").make(); }, {"--checkpoint"});
}

TEST(ManifestFile, OfAnotherFormatOrDamagedIsRefused) {
  const TempDir folder;
  const fs::path file = folder.path() / Manifest::kName;
  std::string text = to_json_text({"9.0", 1, 2, 3, {}, {}});
  put(file, text.substr(0, text.size() / 2));
  expect_refusal([&] { read_manifest(file); }, {"manifest.json", "damaged"});
  put(file, "[1, 2]");
  expect_refusal([&] { read_manifest(file); }, {"damaged"});
  text.replace(text.find("\"format\": 1"), 11, "\"format\": 7");
  put(file, text);
  expect_refusal([&] { read_manifest(file); }, {"tacit 9.0", "format 7", "format 1"});
  expect_refusal([&] { read_manifest(folder.path() / "none"); }, {"none is missing"});
}

TEST(ManifestFile, EachSettingThatDiffersIsNamed) {
  const CheckpointSettings then{{"--lr", "0.02"}, {"--seed", "1"}, {"--compress", ""}, {"--old", "x"}};
  EXPECT_TRUE(differences(then, then).empty());
  EXPECT_EQ(differences(then, {{"--lr", "0.1"}, {"--seed", "1"}, {"--compress", "fp16"}, {"--new", "y"}}),
            (std::vector<std::string>{"--lr is 0.1 and was 0.02", "--compress is fp16 and was not given"}));
}

}  // namespace
}  // namespace tacit::test
