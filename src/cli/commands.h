// SPDX-License-Identifier: MIT
// The sub-commands. Each adds itself to the program and says what to run.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "tacit/train/model.h"

namespace tacit::cli {

// What a sub-command does once the line is parsed; returns the exit code.
using Action = std::function<int()>;

// Prints the line of an error and gives its exit code. For commands that must print before they end: a launcher may end
// the processes of a failed run once the first one has gone.
int complain(const std::exception_ptr& error);

void add_train(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_measure(CLI::App& app, Action& action);
void add_help(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
// `command` is what the ranks run; it outlives the parsing.
void add_launch(CLI::App& app, Action& action, const std::vector<std::string>& command);

// What all commands have in common, once all are added.
void finish_commands(CLI::App& app);

// Every model of this build.
ModelRegistry all_models(int threads_per_rank);

}  // namespace tacit::cli
