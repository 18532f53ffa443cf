// SPDX-License-Identifier: MIT
// One wording for ranks that leave, in every transport.
#pragma once

#include <string>

#include "tacit/core/error.h"
#include "transport/fabric.h"

namespace tacit {

// What a rank that ends with this error tells its peers; null: it has no error of its own. A rank that failed because
// it lost another one names that one.
Departure failure(const std::exception_ptr& error);

// The same for a rank of which an agent failed.
Departure agent_failure(const std::exception_ptr& error);

// The error of a rank that waits for `gone`, which has left. It names the rank that failed first, and not the one that
// told of it. `wait` is what describe_wait says.
PeerLost loss(int rank, int gone, const Departure& how, const std::string& wait);

}  // namespace tacit
