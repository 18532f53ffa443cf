// SPDX-License-Identifier: MIT
// Sees to it that no rank outlives its launcher, however that dies.
#pragma once

#include <sys/types.h>

#include "cli/launch/descriptor.h"

namespace tacit::cli {

// A process of its own that knows the process groups of all children and waits for the end of a pipe. When the launcher
// is gone, the pipe ends with it; the groups that are left get SIGTERM and, 5 seconds later, SIGKILL.
//
// Threads  made before the process has a second thread, because it forks.
class Guard {
 public:
  Guard();
  ~Guard();  // waits for the process, which ends at once where no group is left
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Called by a child between fork and exec, so that there is no moment in which nobody knows it.
  void enlist(pid_t group) const;
  void forget(pid_t group) const;

 private:
  void tell(pid_t message) const;

  UniqueFd pipe_;
  pid_t process_ = -1;
};

}  // namespace tacit::cli
