// SPDX-License-Identifier: MIT
// A module of another build.
#include "cli/modules/module.h"

tacit::cli::ModuleEntry tacit_module() { return {"0.0.0 foreign", nullptr}; }
