// SPDX-License-Identifier: MIT
// Compiled where the simulator is not built; simulate.cc, compare.cc and tune.cc elsewhere.
#include "cli/commands.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

// Known, so that the message can say what is missing.
void add_absent(CLI::App& app, Action& action, const std::string& name) {
  auto* command = app.add_subcommand(name, "Not in this build: it was made without SimGrid");
  command->allow_extras();
  command->callback([=, &action] {
    action = [=]() -> int {
      throw InvalidConfig(
          "this build has no tacit " + name +
          ": it was made without SimGrid; install libsimgrid-dev and libtoml11-dev and build again");
    };
  });
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) { add_absent(app, action, "simulate"); }
void add_compare(CLI::App& app, Action& action) { add_absent(app, action, "compare"); }
void add_tune(CLI::App& app, Action& action) { add_absent(app, action, "tune"); }

}  // namespace tacit::cli
