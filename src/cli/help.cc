// SPDX-License-Identifier: MIT
// tacit help, tacit completion, and what is the same in all commands.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/complaints.h"
#include "cli/completion.h"
#include "cli/outline.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

int print_help(const CLI::App& app, const std::string& command) {
  const CLI::App* about = command.empty() ? &app : command_named(app, command);
  if (about == nullptr) throw InvalidConfig(unknown_name("command", command, command_names(app)));
  const std::string name = about == &app ? app.get_name() : app.get_name() + " " + command;
  fmt::print("{}", app.get_formatter()->make_help(about, name, CLI::AppFormatMode::Normal));
  return 0;
}

int print_completion(const CLI::App& app, const std::string& shell) {
  const std::vector<CommandOutline> commands = outline_of(app);
  if (shell == "bash") {
    fmt::print("{}", bash_completion(commands));
  } else if (shell == "zsh") {
    fmt::print("{}", zsh_completion(commands));
  } else if (shell == "fish") {
    fmt::print("{}", fish_completion(commands));
  } else {
    throw InvalidConfig(unknown_name("shell", shell, std::vector<std::string>{"bash", "zsh", "fish"}));
  }
  return 0;
}

// Where shells and man look for them below /usr/share.
int write_share(const CLI::App& app, const fs::path& folder) {
  const std::vector<CommandOutline> commands = outline_of(app);
  const auto write = [&](const char* place, const std::string& text) {
    std::error_code ignored;
    fs::create_directories((folder / place).parent_path(), ignored);
    write_whole_file(folder / place, text);
  };
  write("man/man1/tacit.1", man_page(commands));
  write("bash-completion/completions/tacit", bash_completion(commands));
  write("zsh/site-functions/_tacit", zsh_completion(commands));
  write("fish/vendor_completions.d/tacit.fish", fish_completion(commands));
  return 0;
}

// Those that train, measure or start something, and may have many options.
bool may_have_config(const CLI::App& command) {
  for (const char* name : {"train", "simulate", "compare", "tune", "bench", "launch"})
    if (command.get_name() == name) return true;
  return false;
}

}  // namespace

void add_help(CLI::App& app, Action& action) {
  auto* help = app.add_subcommand("help", "Say how a command is used, as its --help does");
  help->footer("Example:\n  tacit help train");
  auto command = std::make_shared<std::string>();
  help->add_option("command", *command, "Name of the command; the program itself if not said");
  help->callback([=, &app, &action] { action = [=, &app] { return print_help(app, *command); }; });
}

void add_completion(CLI::App& app, Action& action) {
  auto* completion =
      app.add_subcommand("completion", "Print a script that lets a shell complete command lines");
  completion->footer("Example:\n  source <(tacit completion bash)");
  auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")->required();
  completion->callback([=, &app, &action] { action = [=, &app] { return print_completion(app, *shell); }; });
  // For the build, which installs what this writes.
  auto* share =
      app.add_subcommand("share", "Write the man page and the completions below a folder")->group("");
  auto folder = std::make_shared<fs::path>();
  share->add_option("folder", *folder, "Such as share")->required();
  share->callback([=, &app, &action] { action = [=, &app] { return write_share(app, *folder); }; });
}

void finish_commands(CLI::App& app) {
  for (CLI::App* each : app.get_subcommands([](CLI::App*) { return true; }))
    if (may_have_config(*each)) add_config_option(*each);
  check_values(app);
}

}  // namespace tacit::cli
