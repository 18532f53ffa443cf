// SPDX-License-Identifier: MIT
// tacit launch --node: runs on another machine on behalf of the launcher.
#pragma once

namespace tacit::cli {

// Reads a job from stdin, starts its ranks, and tells on stdout what becomes of them. Ends them when stdin ends,
// because the launcher or the way to it is gone then. Returns the exit code.
int run_node();

}  // namespace tacit::cli
