// SPDX-License-Identifier: MIT
// A model's weights and buffers as a file of tensors with names, which `--init` and `tacit evaluate` read, and Python.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "tacit/core/space.h"
#include "tacit/train/model.h"

namespace tacit {

// A model as it was at one moment, for a file that is written while it is trained on.
//
// Threads  one at a time.
class ModelCopy {
 public:
  ModelCopy(Model& model, Metadata about);
  // Of any tensors.
  ModelCopy(std::vector<TensorShape> shapes, const std::vector<FloatView>& values, Metadata about);
  // Whole or not at all. Returns the file's CRC-32. Throws Error.
  std::uint32_t write(const std::filesystem::path& file) const;

 private:
  std::vector<TensorShape> shapes_;
  struct Values {
    HostMemory at;
    std::size_t size = 0;
    std::span<float> floats() const { return {reinterpret_cast<float*>(at.get()), size}; }
  };
  std::vector<Values> values_;
  Metadata about_;
};

// What a file says of the model in it, so that whoever has the file alone can build one.
Metadata describe_model(const std::string& spec, const ModelContext& context);
struct DescribedModel {
  std::string spec;  // `cnn`
  ModelContext context;
};
// Throws InvalidConfig where the file does not say: it was not written by Tacit.
DescribedModel described_in(const std::filesystem::path& file, const Metadata& about);

// The model's weights and buffers become those of the file. Throws InvalidConfig that names the first tensor that the
// model has and the file has not, has in another shape, or has beside those of the model.
void load_model(const std::filesystem::path& file, Model& model);

}  // namespace tacit
