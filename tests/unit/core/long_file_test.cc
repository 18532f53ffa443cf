// SPDX-License-Identifier: MIT
#include "core/long_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <string>

#include "core/whole_file.h"
#include "support/temp_dir.h"
#include "support/whole_files.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRoom = std::size_t{4} << 20U;  // that a LongFile gathers

std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761U) >> 13U);
  return text;
}

void write_in_pieces(const fs::path& file, const std::string& text, std::size_t piece) {
  write_whole_file(file, [&](LongFile& out) {
    for (std::size_t at = 0; at < text.size(); at += piece)
      out.write(std::as_bytes(std::span(text).subspan(at, std::min(piece, text.size() - at))));
  });
}

// In memory, where nothing bypasses the cache, and wherever temporary files are, where it can.
TEST(LongFile, HoldsWhatWasWrittenHoweverLongAndInWhateverPieces) {
  for (const fs::path& place : {fs::path("/dev/shm"), fs::temp_directory_path()}) {
    const TempDir folder(place);
    const fs::path file = folder.path() / "long";
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{4097}, kRoom - 1,
          kRoom, kRoom + 1, kRoom + 4096, 2 * kRoom + 5000})
      for (const std::size_t piece : {std::size_t{4096}, std::size_t{100'003}, 3 * kRoom}) {
        const std::string text = text_of(size);
        write_in_pieces(file, text, piece);
        EXPECT_TRUE(bytes_in(file) == text) << size << " bytes in pieces of " << piece << " in " << place;
      }
  }
}

// What a limit on the size of files does, a full disk does too: the write ends in the middle of a piece.
TEST(LongFile, ThatCannotBeFinishedLeavesWhatWasThere) {
  const TempDir folder;
  const fs::path file = folder.path() / "long";
  write_in_pieces(file, "before", 6);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t most : {rlim_t{kRoom + 4096}, rlim_t{kRoom + 1000}, rlim_t{2 * kRoom + 100}}) {
    const rlimit limited{most, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
    std::string said;
    try {
      write_in_pieces(file, text_of(2 * kRoom + 200), 3 * kRoom);
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_NE(said.find("long.part (File too large)"), std::string::npos) << said;
    EXPECT_EQ(bytes_in(file), "before");
    EXPECT_FALSE(fs::exists(file.string() + ".part"));
  }
  ::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace tacit::test
