// SPDX-License-Identifier: MIT
#include "cli/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tacit/core/text.h"

namespace tacit::cli {
namespace {

// "model name	: AMD EPYC"; not every kind of processor says it.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return shown(line.substr(colon + 2));
  }
  utsname about{};
  return ::uname(&about) == 0 ? about.machine : "an unknown processor";
}

}  // namespace

std::string machine_name() {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  return fmt::format("{} core{}, {}", cores, cores == 1 ? "" : "s", processor());
}

}  // namespace tacit::cli
