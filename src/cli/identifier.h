// SPDX-License-Identifier: MIT
// Tells simulated runs apart.
#pragma once

#include <map>
#include <string>

#include "cli/identity.h"
#include "cli/simulate.h"

namespace tacit::cli {

// Gives runs their identity. Reads every file once, the data set as a run would; throws InvalidConfig where one cannot
// be read.
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
