// SPDX-License-Identifier: MIT
#include "runlog/writer.h"

#include "core/plain_file.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

std::unique_ptr<PlainFile> open(const std::filesystem::path& file, RunLogWriter::Begin begin) {
  try {
    return std::make_unique<PlainFile>(
        file, begin == RunLogWriter::Begin::kAnew ? PlainFile::How::kAnew : PlainFile::How::kGoOn);
  } catch (const Error& error) {
    throw InvalidConfig(std::string(error.what()) + "; give --out a folder that you may write to");
  }
}

}  // namespace

RunLogWriter::RunLogWriter(const std::filesystem::path& file, Begin begin) : file_(open(file, begin)) {}
RunLogWriter::~RunLogWriter() = default;

void RunLogWriter::write_line(const std::string& line) {
  const MutexLock lock(mutex_);
  file_->write(line + "\n");
}

void RunLogWriter::sync() {
  const MutexLock lock(mutex_);
  file_->sync();
}

bool RunLogWriter::empty() const {
  const MutexLock lock(mutex_);
  return file_->empty();
}

void write_summary(const Summary& summary, const std::filesystem::path& file) {
  write_whole_file(file, to_json_text(summary));
}

}  // namespace tacit
