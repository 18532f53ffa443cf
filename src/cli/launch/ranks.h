// SPDX-License-Identifier: MIT
// Turns processes into ranks: the environment and the descriptors that the library finds its job by (docs/launch.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/launch/children.h"
#include "tacit/transport/job_key.h"

namespace tacit::cli {

// Equal for all ranks of a job.
struct Job {
  std::string id;
  int size = 1;
  std::optional<JobKey> key;  // none: the user said --insecure-plaintext
  std::string rendezvous;
  std::vector<std::string> command;
};

// The ranks of one machine.
struct Share {
  int first = 0;
  int count = 1;
};

// Starts them; ids are ranks. Rank 0 gets the socket, which no longer exists in this process afterwards, and `input` as
// its stdin; the others read /dev/null. Throws InvalidConfig.
void start_ranks(Children& children, const Job& job, Share share, UniqueFd listener, int input);

}  // namespace tacit::cli
