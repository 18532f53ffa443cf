// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "core/mutex.h"

namespace tacit {

// Which files of a set cannot be used, and what is said of them.
//
// Threads  any.
class BadFiles {
 public:
  // Of so many files in a folder, of which this share may be bad.
  BadFiles(std::string folder, std::size_t files, double share);

  bool has(std::size_t file) const;
  // Throws InvalidConfig where there are too many.
  void require_few() const;
  // Once for each file, however often it is added. Throws as above.
  void add(std::size_t file, const std::string& path, const std::string& why);
  // The first ones by name; at the end how many there were, where that was not said yet.
  std::vector<std::string> take_warnings(bool at_end);

 private:
  const std::string folder_;
  const double share_;
  mutable Mutex mutex_;
  std::vector<bool> bad_ TACIT_GUARDED_BY(mutex_);
  std::size_t count_ TACIT_GUARDED_BY(mutex_) = 0;
  std::size_t said_ TACIT_GUARDED_BY(mutex_) = 0;  // at the end
  std::string too_many_ TACIT_GUARDED_BY(mutex_);  // empty as long as there are few
  std::vector<std::string> warnings_ TACIT_GUARDED_BY(mutex_);
};

}  // namespace tacit
