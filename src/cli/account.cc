// SPDX-License-Identifier: MIT
#include "cli/account.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <utility>

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error || !fs::is_directory(out))
    throw InvalidConfig(fmt::format("cannot make the folder {} ({}); give --out a place you may write to",
                                    out.string(), error ? error.message() : "a file is in the way"));
}

// "2026-11-16 08:15", in local time.
std::string changed(const fs::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return "an unknown time";
  tm parts{};
  return fmt::format("{:%Y-%m-%d %H:%M}", *::localtime_r(&about.st_mtime, &parts));
}

// What is not a plain file is refused when it is written to.
bool is_plain_file(const fs::path& file) {
  std::error_code error;
  return fs::symlink_status(file, error).type() == fs::file_type::regular;
}

}  // namespace

Account::Account(fs::path out, RunStarted started) : out_(std::move(out)), started_(std::move(started)) {}

void Account::refuse_used(const fs::path& out) {
  if (out.empty()) return;
  const fs::path summary = out / kSummary;
  const fs::path log = out / kLog;
  const bool ended = is_plain_file(summary);
  if (!ended && !is_plain_file(log)) return;
  throw InvalidConfig(
      fmt::format("{} has the account of another run ({} of {}{}); give --overwrite, or --out another folder",
                  out.string(), ended ? kSummary : kLog, changed(ended ? summary : log),
                  ended ? "" : "; it did not end, or goes on"));
}

void Account::begin() {
  if (out_.empty()) return;
  const MutexLock lock(mutex_);
  open(RunLogWriter::Begin::kAnew);
}

void Account::go_on() {
  if (out_.empty()) return;
  const MutexLock lock(mutex_);
  open(RunLogWriter::Begin::kWhereItEnds);
}

void Account::open(RunLogWriter::Begin begin) {
  make_folder(out_);
  log_ = std::make_unique<RunLogWriter>(log_file(), begin);
  std::error_code error;
  fs::remove(summary_file(), error);
  if (error || fs::exists(summary_file()))
    throw InvalidConfig(fmt::format("cannot replace {} ({}); move it away or give another --out",
                                    summary_file().string(), error ? error.message() : "it is not a file"));
  if (log_->empty()) attempt([&] { log_->write(started_); });
}

void Account::take_over() {
  const MutexLock lock(mutex_);
  if (out_.empty() || log_ || has_summary()) return;
  attempt([&] {
    make_folder(out_);
    log_ = std::make_unique<RunLogWriter>(log_file(), RunLogWriter::Begin::kWhereItEnds);
    if (log_->empty()) log_->write(started_);
  });
}

bool Account::has_summary() const {
  std::error_code error;
  return !out_.empty() && fs::exists(summary_file(), error);
}

void Account::write(const RankLost& event) {
  const MutexLock lock(mutex_);
  if (!log_) return;
  attempt([&] {
    log_->write(event);
    log_->sync();
  });
}

void Account::finish(const Summary& summary) {
  if (out_.empty()) return;
  const MutexLock lock(mutex_);
  if (log_)
    attempt([&] {
      log_->write(summary);
      log_->sync();
    });
  write_summary(summary, summary_file());
}

}  // namespace tacit::cli
