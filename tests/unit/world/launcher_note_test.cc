// SPDX-License-Identifier: MIT
// The bytes in which ranks tell tacit launch something: it and programs of other versions read them.
#include "world/launcher_note.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace tacit {
namespace {

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

class LauncherNotes : public ::testing::Test {
 protected:
  explicit LauncherNotes(int seals = kSeals)
      : memory_(::memfd_create("notes", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(memory_, off_t{kBytesPerNote} * 3), 0);
    EXPECT_EQ(::fcntl(memory_, F_ADD_SEALS, seals), 0);
  }
  LauncherNotes(const LauncherNotes&) = delete;
  LauncherNotes& operator=(const LauncherNotes&) = delete;
  ~LauncherNotes() override { ::close(memory_); }

  std::string bytes() const {
    std::string text(64, 'x');
    text.resize(static_cast<std::size_t>(::pread(memory_, text.data(), text.size(), 0)));
    return text;
  }

  const int memory_;
};

TEST_F(LauncherNotes, EveryRankHasFourBytesWithItsNoteAndThePortWithTheLowerByteFirst) {
  note_port(memory_, 1, 0x1F90);
  leave_note(memory_, 1, LauncherNote::kOthersGoOn);
  EXPECT_EQ(bytes(), std::string("\0\0\0\0\1\0\x90\x1F\0\0\0\0", 12));
  leave_note(memory_, 2, LauncherNote::kGivenUp);
  note_port(memory_, 0, 65535);
  EXPECT_EQ(bytes(), std::string("\0\0\xFF\xFF\1\0\x90\x1F\2\0\0\0", 12));
}

TEST_F(LauncherNotes, ARankThatIsNotOfTheJobChangesNothing) {
  note_port(memory_, 3, 8080);
  leave_note(memory_, 3, LauncherNote::kOthersGoOn);
  EXPECT_EQ(bytes(), std::string(12, '\0'));
}

class OtherMemory : public LauncherNotes {
 protected:
  OtherMemory() : LauncherNotes(F_SEAL_SEAL) {}
};

TEST_F(OtherMemory, ThatIsNotTheLaunchersIsLeftAlone) {
  note_port(memory_, 1, 8080);
  leave_note(memory_, 1, LauncherNote::kGivenUp);
  leave_note(-1, 1, LauncherNote::kGivenUp);
  EXPECT_EQ(bytes(), std::string(12, '\0'));
}

}  // namespace
}  // namespace tacit
