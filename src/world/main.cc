// SPDX-License-Identifier: MIT
#include "tacit/main.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include "core/exit_code.h"
#include "world/signals.h"

namespace tacit {
namespace {

int complain(const std::string& program, const std::exception_ptr& error) {
  const LastWords words = last_words(error);
  std::fflush(stdout);  // what the body printed comes before why it ended
  std::fputs((program + ": " + words.line + "\n").c_str(), stderr);
  return words.code;
}

std::string late_words(const std::string& program, const World& world) {
  if (world.rank() != 0) return "";
  return program +
         ": interrupted; it ends with the next exchange or step, and at once with a second Ctrl-C\n";
}

int run(World& world, const std::string& program, const std::function<void(Process&)>& body) {
  const SignalWatch watch(world, late_words(program, world));
  try {
    world.run(body);
    return ExitCode::kDone;
  } catch (...) {
    // Before the world goes: a launcher may end the processes of a failed run once the first one has gone.
    return complain(program, StopSignals::cause(std::current_exception()));
  }
}

}  // namespace

int main(int& argc, char** argv, const std::function<void(Process&)>& body) {
  return main(argc, argv, {}, body);
}

int main(int& argc, char** argv, WorldOptions options, const std::function<void(Process&)>& body) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "program";
  try {
    World world = World::from_environment(argc, argv, std::move(options));
    return run(world, program, body);
  } catch (...) {
    return complain(program, std::current_exception());
  }
}

}  // namespace tacit
