// SPDX-License-Identifier: MIT
// What makes two simulated runs the same run.
#pragma once

#include <string>

namespace tacit::cli {

// Runs with equal identities end alike. Where they write to is no part of it, and neither is how files are called.
struct Identity {
  std::string options;  // as words of a command line, the seed among them
  std::string cluster;  // hash of what the cluster file and the files it names hold
  std::string data;     // hash of all samples; of no data, for cost only, empty
  std::string program;  // version and hash of the program
  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace tacit::cli
