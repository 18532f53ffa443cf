// SPDX-License-Identifier: MIT
// The program. Its exit codes are those of core/exit_code.h.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/complaints.h"
#include "cli/print_or_drop.h"
#include "core/exit_code.h"
#include "tacit/core/version.h"

namespace {

using tacit::ExitCode;

int complain(const std::string& what, int code) {
  tacit::cli::print_or_drop(stderr, "tacit: {}\n", what);
  return code;
}

// A call for help with a command that does not exist is none: the answer would be about something else.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  const bool asks = error.get_exit_code() == 0;  // --help, --version
  const bool nonsense = &tacit::cli::innermost(app) == &app && !app.remaining(false).empty();
  if (asks && !nonsense) return app.exit(error);
  return complain(tacit::cli::complaint(app, error), ExitCode::kBadInput);
}

// Where in a config file the option stands that the message begins with.
std::string with_place(const std::string& message, const tacit::cli::Places& places) {
  const auto place = places.find(message.substr(0, message.find_first_of(" =")));
  return place == places.end() ? message : place->second + ": " + message;
}

int run(tacit::cli::Action& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return complain("cannot write the result to standard output; is the disk full?", ExitCode::kFailed);
    return code;
  } catch (...) {
    return tacit::cli::complain(std::current_exception());
  }
}

}  // namespace

int tacit::cli::complain(const std::exception_ptr& error) {
  const LastWords words = last_words(error);
  return ::complain(words.line, words.code);
}

int main(int argc, char** argv) {
  CLI::App app("Tacit: distributed deep-learning training that says less and waits less", "tacit");
  app.set_version_flag("-V,--version", "tacit " + tacit::version());
  app.require_subcommand(1);
  app.footer(
      "Example:\n  tacit train --strategy ssgd --workers 4 --model cnn --data fashion-mnist --epochs 1");
  tacit::cli::Action action;
  tacit::cli::Words command;
  tacit::cli::add_train(app, action);
  tacit::cli::add_simulate(app, action);
  tacit::cli::add_compare(app, action);
  tacit::cli::add_tune(app, action);
  tacit::cli::add_evaluate(app, action);
  tacit::cli::add_list(app, action);
  tacit::cli::add_bench(app, action);
  tacit::cli::add_measure(app, action);
  tacit::cli::add_launch(app, action, command);
  tacit::cli::add_help(app, action);
  tacit::cli::add_completion(app, action);
  tacit::cli::finish_commands(app);
  tacit::cli::Words words(argv + std::min(argc, 1), argv + argc);
  tacit::cli::Places places;
  try {
    command = tacit::cli::take_command(*app.get_subcommand("launch"), words);
    places = tacit::cli::apply_config(app, words);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  } catch (const tacit::InvalidConfig& error) {
    return complain(tacit::cli::with_help(with_place(error.what(), places), tacit::cli::innermost(app)),
                    ExitCode::kBadInput);
  }
  return run(action);
}
