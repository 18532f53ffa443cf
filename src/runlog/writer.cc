// SPDX-License-Identifier: MIT
#include "tacit/runlog/writer.h"

#include "tacit/core/error.h"

namespace tacit {

RunLogWriter::RunLogWriter(const std::filesystem::path& file) : path_(file), file_(file) {
  if (!file_)
    throw InvalidConfig("cannot write " + file.string() + "; give --out a folder that you may write to");
}

void RunLogWriter::write_line(const std::string& line) {
  const MutexLock lock(mutex_);
  file_ << line << '\n' << std::flush;
  if (!file_) throw Error("cannot write on to " + path_.string() + "; is the disk full?");
}

void write_summary(const Summary& summary, const std::filesystem::path& file) {
  const std::filesystem::path beside = file.string() + ".part";
  {
    std::ofstream out(beside);
    out << to_json_text(summary) << std::flush;
    if (!out) throw Error("cannot write " + beside.string() + "; is the disk full?");
  }
  std::error_code error;
  std::filesystem::rename(beside, file, error);
  if (!error) return;
  std::filesystem::remove(beside);
  throw Error("cannot write " + file.string() + " (" + error.message() +
              "); is a folder of that name in the way?");
}

}  // namespace tacit
