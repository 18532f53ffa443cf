// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>

namespace tacit {

// For a descriptor that was inherited and is now ours: what this process starts shall not hold it. A socket that lives on
// in a child hides from the peers that its rank is dead, and a key is nobody else's business.
inline void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

}  // namespace tacit
