// SPDX-License-Identifier: MIT
// One wording for ranks that leave, in every transport between processes.
#pragma once

#include <string>

#include "tacit/core/error.h"
#include "tacit/transport/fabric.h"

namespace tacit {

// What the peers of a rank are told that ends with this error, or with none of its own (null). One that failed because it
// lost another rank names that one.
Departure failure(const std::exception_ptr& error);

// The same where it was one of its agents that failed.
Departure agent_failure(const std::exception_ptr& error);

// The error of a rank that waits for `gone` in vain. The culprit of a departure is named, and not the messenger. `wait` is
// what describe_wait says.
PeerLost loss(int rank, int gone, const Departure& how, const std::string& wait);

}  // namespace tacit
