// SPDX-License-Identifier: MIT
// What follows from the options of a transport.
#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "tacit/core/error.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "transport/limits.h"
#include "transport/tcp/messages.h"

namespace tacit {

// The options with a place to report to; throws InvalidConfig for what cannot be.
inline TcpOptions checked(TcpOptions options) {
  options.limits = checked(std::move(options.limits));
  if (options.size < 1)
    throw InvalidConfig("a world needs at least 1 rank, not " + std::to_string(options.size));
  if (options.rank < 0 || options.rank >= options.size)
    throw InvalidConfig("rank " + std::to_string(options.rank) + " does not exist in a world of " +
                        std::to_string(options.size));
  if (options.job.empty() || options.job.size() > kMostJobChars)
    throw InvalidConfig("a job's name has 1 to " + std::to_string(kMostJobChars) + " characters, and '" +
                        options.job + "' has " + std::to_string(options.job.size()));
  if (!(options.lost_after > Seconds(0)) || !(options.start_limit > Seconds(0)))
    throw InvalidConfig("a peer is lost, and the start is over, after a positive number of seconds");
  // Nobody waits for a rank that has not come longer than for one that has.
  options.start_limit = std::min(options.start_limit, options.limits.timeout);
  return options;
}

// Looking again and again pays while every rank of this machine has a core of its own.
inline int spins_for(int local_ranks) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return local_ranks > 0 && local_ranks <= cores ? 200 : 1;
}

}  // namespace tacit
