// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "tacit/core/views.h"

namespace tacit {

// A file that is written by this process: a regular one and no link to another place, which somebody may have put there
// to have that one written to. It is closed on exec.
//
// Ordering  bytes go to the end of the file, wherever that is by then.
// Threads   one at a time.
// Errors    Error that names the file and says why.
class PlainFile {
 public:
  enum class How {
    kNew,   // there must be none
    kAnew,  // what was there goes
    kGoOn,  // what was there stays; a last line without an end, of a writer that died, goes
  };
  PlainFile(const std::filesystem::path& file, How how);
  ~PlainFile();
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  // All of the text or, with an Error, nothing of it.
  void write(std::string_view text);
  void write(ConstBytes data) { write({reinterpret_cast<const char*>(data.data()), data.size()}); }
  // From now on what is written goes past the system's page cache, or through it again: where the file system can do that,
  // and for whole blocks of 4 KiB that lie at multiples of it, here and in the file. All else goes through it.
  void bypass_cache(bool bypass);
  // Returns when everything is on the disk.
  void sync();
  bool empty() const { return size() == 0; }

 private:
  void begin(How how);
  off_t size() const;
  void cut_off_last_line();
  [[noreturn]] void fail(const char* what, int error) const;

  const std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace tacit
