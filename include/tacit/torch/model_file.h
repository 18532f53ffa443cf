// SPDX-License-Identifier: MIT
// A module's parameters and buffers as a file in the format safetensors, which Python reads too.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>

namespace tacit::torch {

// Whole or not at all; on the disk when it returns. Floats of 32 bits and integers of 64 are written, under the names that
// the module has for them. Throws InvalidConfig that names a tensor of another type, and Error where the file cannot be
// written.
void save_model(const ::torch::nn::Module& module, const std::filesystem::path& file);

// The module's parameters and float buffers become those of the file, or of the folder of a run or checkpoint that has
// one. Before Replicated is made. Throws InvalidConfig that names the first tensor that does not fit.
void load_model(::torch::nn::Module& module, const std::filesystem::path& file);

}  // namespace tacit::torch
