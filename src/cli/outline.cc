// SPDX-License-Identifier: MIT
#include "cli/outline.h"

#include <algorithm>
#include <map>

#include "cli/complaints.h"
#include "cli/list.h"

namespace tacit::cli {
namespace {

// Names that an option or an argument takes.
Values names_for(const CLI::App& app, const std::string& command, const std::string& option) {
  static const std::map<std::string, std::string> kinds{
      {"strategy", "strategies"}, {"strategies", "strategies"}, {"compress", "compressors"},
      {"model", "models"},        {"data", "datasets"},         {"optimizer", "optimizers"},
      {"schedule", "schedules"},  {"cluster", "clusters"},      {"experiment", "experiments"},
      {"shards", "shards"}};
  if (const auto kind = kinds.find(option); kind != kinds.end())
    return {names_of_kind(kind->second), option == "cluster" || option == "experiment"};
  if (option == "world") return {{"auto", "threads", "tcp", "mpi"}};
  if (option == "collectives") return {{"tacit", "native"}};
  if (option == "beside") return {{"gloo", "openmpi"}};
  if (command == "list" && option == "what") return {kinds_of_names()};
  if (command == "bench" && option == "what") return {{"allreduce", "latency", "bandwidth", "compress"}};
  if (option == "shell") return {{"bash", "zsh", "fish"}};
  if (option == "command") return {command_names(app)};
  const std::vector<std::string> files{"out", "config", "hosts", "key-file", "remote-tacit", "program"};
  return {{}, std::find(files.begin(), files.end(), option) != files.end()};
}

OptionOutline outline_of(const CLI::App& app, const CLI::App& command, const CLI::Option& option) {
  OptionOutline o;
  o.long_names = option.get_lnames();
  if (!option.get_snames().empty()) o.short_name = option.get_snames().front();
  o.name = option.get_positional() ? option.get_name(true)
           : o.long_names.empty()  ? o.short_name
                                   : o.long_names.front();
  if (!is_switch(option)) o.type = option.get_type_name();
  o.fallback = option.get_default_str();
  o.description = option.get_description();
  o.values = names_for(app, command.get_name(), o.name);
  return o;
}

CommandOutline outline_of(const CLI::App& app, const CLI::App& command) {
  CommandOutline c;
  if (&command != &app) c.name = command.get_name();
  c.description = command.get_description();
  c.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? c.places : c.options).push_back(outline_of(app, command, *option));
  }
  return c;
}

}  // namespace

std::vector<CommandOutline> outline_of(const CLI::App& app) {
  std::vector<CommandOutline> all{outline_of(app, app)};
  for (const std::string& name : command_names(app))
    all.push_back(outline_of(app, *command_named(app, name)));
  return all;
}

}  // namespace tacit::cli
