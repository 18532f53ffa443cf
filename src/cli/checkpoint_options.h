// SPDX-License-Identifier: MIT
// --checkpoint, --resume and --init, for the commands that train.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/training.h"

namespace tacit::cli {

// settings must outlive the app.
void add_checkpoint_options(CLI::App& app, TrainSettings& settings);

// Once the line is parsed, and before anything else looks at it. With --resume, what was not given becomes what the
// checkpoint's run was given. Throws InvalidConfig where something was given otherwise, which names each difference, and
// for options that make no sense together.
void settle_checkpoint_options(CLI::App& app, TrainSettings& settings);

// Makes the folder of --checkpoint. Where it has those of another run: throws InvalidConfig, or with --overwrite removes
// them.
void clear_checkpoints(const TrainSettings& settings);

}  // namespace tacit::cli
