// SPDX-License-Identifier: MIT
// The main function of a program whose ranks are whatever started it says.
#pragma once

#include <functional>

#include "tacit/world/world.h"

namespace tacit {

// Opens World::from_environment, runs the body on every rank of this process and returns the exit code for main():
//
//   int main(int argc, char** argv) {
//     return tacit::main(argc, argv, [&](tacit::Process& me) { ... });
//   }
//
// Arguments  `--workers N` is taken out of argv, so that the body sees the caller's own in argc and argv.
// Errors     one line on stderr, "PROGRAM: what happened", and the exit code of docs/errors.md. Throws nothing.
// Signals    on Ctrl-C and SIGTERM every wait and every step of a trainer ends with Interrupted, and the program with
//            130. A body that computes for long and does neither ends with the second Ctrl-C.
int main(int& argc, char** argv, const std::function<void(Process&)>& body);
int main(int& argc, char** argv, WorldOptions options, const std::function<void(Process&)>& body);

}  // namespace tacit
