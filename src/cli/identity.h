// SPDX-License-Identifier: MIT
// What makes two simulated runs the same run.
#pragma once

#include <map>
#include <string>

#include "cli/simulate.h"

namespace tacit::cli {

// Runs with equal identities end alike. Where they write to is no part of it, and neither is how files are called.
struct Identity {
  std::string options;  // as words of a command line, the seed among them
  std::string cluster;  // hash of what the cluster file and the files it names hold
  std::string data;     // hash of all samples; of no data, for cost only, empty
  std::string program;  // version and hash of the program
  friend bool operator==(const Identity&, const Identity&) = default;
};

// Gives runs their identity. Reads every file once, the data set as a run would; throws InvalidConfig where one cannot be
// read.
class Identifier {
 public:
  Identifier();
  Identity operator()(const SimulateSettings& settings);

 private:
  const std::string& data(const std::string& spec);
  const std::string& cluster(const std::filesystem::path& file);

  const std::string program_;
  std::map<std::string, std::string> data_;
  std::map<std::filesystem::path, std::string> clusters_;
};

}  // namespace tacit::cli
