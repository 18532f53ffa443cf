// SPDX-License-Identifier: MIT
// Who waits for whom, so that the one all wait for is named.
#pragma once

#include <string>
#include <vector>

#include "transport/tcp/messages.h"

namespace tacit {

// The chain that begins at the rank with the longest wait: "rank 3 waits for rank 1 (all-reduce 7, part 0, 31 s), which
// waits for rank 2 (...), which waits for nobody: look at rank 2". Empty where nobody waits. `waits` is by rank.
std::string describe_chain(const std::vector<WaitState>& waits);

}  // namespace tacit
