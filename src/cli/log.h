// SPDX-License-Identifier: MIT
#pragma once

namespace tacit::cli {

// Sends warnings to stderr, above the lines that are drawn there. Before a world is opened.
void start_log();

}  // namespace tacit::cli
