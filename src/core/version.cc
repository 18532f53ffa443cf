// SPDX-License-Identifier: MIT
#include "tacit/core/version.h"

namespace tacit {

std::string version() { return TACIT_VERSION; }

}  // namespace tacit
