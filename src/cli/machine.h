// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tacit::cli {

// This machine as a table names it: "2 cores, AMD EPYC".
std::string machine_name();

}  // namespace tacit::cli
