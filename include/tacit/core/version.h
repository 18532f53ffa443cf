// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tacit {

std::string version();  // of Tacit: "0.1.0"

}  // namespace tacit
