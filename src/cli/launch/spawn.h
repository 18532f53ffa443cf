// SPDX-License-Identifier: MIT
// Starts one process.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/launch/descriptor.h"
#include "cli/launch/guard.h"

namespace tacit::cli {

struct SpawnPlan {
  std::vector<std::string> command;      // the first word is a path or is looked up in PATH
  std::vector<std::string> environment;  // NAME=value, all of it
  // (ours, the child's number): what it has beside the stdin, stdout and stderr of this process.
  std::vector<std::pair<int, int>> descriptors;
};

// Starts the program as the leader of a process group of its own, which a terminal's Ctrl-C does not reach. It gets
// SIGTERM when this process dies, and its group is enlisted with the guard. Signals are handled and masked in it as
// they were before `ignore_broken_pipes`.
//
// Threads  one, the process's only one: posix_spawn cannot ask for a signal at the parent's death, so this forks.
// Errors   InvalidConfig that names the program, once it is known that it cannot be executed.
pid_t spawn(const SpawnPlan& plan, const Guard& guard);

// NAME=value, of this process.
std::vector<std::string> current_environment();

// Writing to a pipe that nobody reads becomes an error instead of a signal.
void ignore_broken_pipes();

}  // namespace tacit::cli
