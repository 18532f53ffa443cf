// SPDX-License-Identifier: MIT
// The program. Exit codes: 0 done, 1 failed, 2 the user must change something, 3 a peer was lost, 130
// interrupted.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/print_or_drop.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;
constexpr int kPeerLost = 3;
constexpr int kInterrupted = 130;

int complain(const std::string& what, int code) {
  tacit::cli::print_or_drop(stderr, "tacit: {}\n", what);
  return code;
}

// The sub-command that was being parsed, or the program itself.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

// CLI11's words for what nobody expected do not say what was meant instead.
std::string explain_extra(const CLI::App& app, const std::string& extra) {
  const CLI::App& at = innermost(app);
  const std::string help = "; see tacit " + (&at == &app ? "" : at.get_name() + " ") + "--help";
  if (extra.starts_with("-")) {
    const std::string near = tacit::nearest(extra, option_names(at));
    return "unknown option '" + extra + "'" + (near.empty() ? "" : "; did you mean '" + near + "'") + help;
  }
  if (&at == &app) return tacit::unknown_name("command", extra, command_names(app)) + help;
  return "'" + extra + "' was not expected" + help;
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::vector<std::string> extras;
  for (const std::string& extra : app.remaining(true)) extras.push_back(extra);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
    return complain(explain_extra(app, extras.front()), kBadInput);
  if (innermost(app).get_parent() == nullptr && !extras.empty())
    return complain(explain_extra(app, extras.front()), kBadInput);
  return complain(std::string(error.what()) + "; see tacit " +
                      (&innermost(app) == &app ? "" : innermost(app).get_name() + " ") + "--help",
                  kBadInput);
}

// What `launch` starts is not for this program to parse: takes everything after `--` off the line.
std::vector<std::string> take_command(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "launch") return {};
  char** const end = argv + argc;
  char** const mark = std::find(argv, end, std::string_view("--"));
  argc = static_cast<int>(mark - argv);
  return {mark == end ? end : mark + 1, end};
}

int run(tacit::cli::Action& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return complain("cannot write the result to standard output; is the disk full?", kFailed);
    return code;
  } catch (...) {
    return tacit::cli::complain(std::current_exception());
  }
}

}  // namespace

int tacit::cli::complain(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const InvalidConfig& e) {
    return ::complain(e.what(), kBadInput);
  } catch (const PeerLost& e) {
    return ::complain(e.what(), kPeerLost);
  } catch (const Interrupted&) {
    return ::complain("interrupted", kInterrupted);
  } catch (const std::exception& e) {
    return ::complain(e.what(), kFailed);
  }
}

int main(int argc, char** argv) {
  CLI::App app("Tacit: distributed deep-learning training that says less and waits less", "tacit");
  app.set_version_flag("--version", "tacit " TACIT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  tacit train --strategy ssgd --workers 4 --model cnn --data fashion-mnist --epochs 1");
  tacit::cli::Action action;
  const std::vector<std::string> command = take_command(argc, argv);
  tacit::cli::add_train(app, action);
  tacit::cli::add_simulate(app, action);
  tacit::cli::add_compare(app, action);
  tacit::cli::add_list(app, action);
  tacit::cli::add_bench(app, action);
  tacit::cli::add_measure(app, action);
  tacit::cli::add_launch(app, action, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  return run(action);
}
