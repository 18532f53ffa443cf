// SPDX-License-Identifier: MIT
#include "train/images/bad_files.h"

#include <sstream>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr std::size_t kNamed = 8;

std::string text(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

BadFiles::BadFiles(std::string folder, std::size_t files, double share)
    : folder_(std::move(folder)), share_(share), bad_(files) {}

bool BadFiles::has(std::size_t file) const {
  const MutexLock lock(mutex_);
  return bad_[file];
}

void BadFiles::require_few() const {
  const MutexLock lock(mutex_);
  if (!too_many_.empty()) throw InvalidConfig(too_many_);
}

void BadFiles::add(std::size_t file, const std::string& path, const std::string& why) {
  const MutexLock lock(mutex_);
  if (bad_[file]) return;
  bad_[file] = true;
  ++count_;
  if (static_cast<double>(count_) > share_ * static_cast<double>(bad_.size())) {
    too_many_ = std::to_string(count_) + " of the " + std::to_string(bad_.size()) + " images in " + folder_ +
                " cannot be used, the last of them " + path + " (" + why + "), and bad=" + text(share_) +
                " allows no more than that share; mend or remove them, or allow more";
    throw InvalidConfig(too_many_);
  }
  if (count_ <= kNamed)
    warnings_.push_back(path + " cannot be used (" + why + "); the file after it takes its place");
  if (count_ == kNamed + 1)
    warnings_.push_back("more images in " + folder_ +
                        " cannot be used; at the end of the run their number is said");
}

std::vector<std::string> BadFiles::take_warnings(bool at_end) {
  const MutexLock lock(mutex_);
  std::vector<std::string> taken = std::exchange(warnings_, {});
  if (at_end && count_ > said_)
    taken.push_back(std::to_string(count_) + " of the " + std::to_string(bad_.size()) + " images in " +
                    folder_ + " could not be used; others took their places");
  if (at_end) said_ = count_;
  return taken;
}

}  // namespace tacit
