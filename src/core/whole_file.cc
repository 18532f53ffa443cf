// SPDX-License-Identifier: MIT
#include "core/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "tacit/core/error.h"

namespace tacit {

namespace fs = std::filesystem;

void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

namespace {

void replace(const fs::path& file, const std::function<void(PlainFile&)>& write) {
  const fs::path draft = file.string() + ".part";
  std::error_code ignored;
  fs::remove(draft, ignored);  // of a process that died; or a link, which goes and not what it leads to
  std::error_code error;
  try {
    PlainFile out(draft, PlainFile::How::kNew);
    write(out);
    out.sync();
    fs::rename(draft, file, error);
  } catch (...) {
    fs::remove(draft, ignored);
    throw;
  }
  if (!error) return sync_folder(file.parent_path());
  fs::remove(draft, ignored);
  throw Error("cannot write " + file.string() + " (" + error.message() +
              "); is a folder of that name in the way?");
}

}  // namespace

void write_whole_file(const fs::path& file, const std::string& text) {
  replace(file, [&](PlainFile& out) { out.write(text); });
}

void write_whole_file(const fs::path& file, const std::function<void(LongFile&)>& write) {
  replace(file, [&](PlainFile& out) {
    LongFile pieces(out);
    write(pieces);
    pieces.finish();
  });
}

}  // namespace tacit
