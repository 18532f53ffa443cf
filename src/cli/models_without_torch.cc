// SPDX-License-Identifier: MIT
#include "cli/commands.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

// Known, so that the message can say what is missing instead of "unknown model".
ModelInfo absent(const std::string& name, const std::string& paper) {
  return {
      name, "not in this build: it was made without LibTorch", paper,
      [name](OptionReader&, const ModelContext&) -> std::unique_ptr<Model> {
        throw InvalidConfig("this build has no model '" + name +
                            "': it was made without LibTorch; install libtorch-dev and build again, or use "
                            "--model mlp");
      }};
}

}  // namespace

ModelRegistry all_models(int) {
  ModelRegistry registry = builtin_models();
  registry.add(absent("cnn", "Proc. IEEE 86(11), 1998"));
  for (const char* name : {"resnet8", "resnet20", "resnet56"}) registry.add(absent(name, "arXiv:1512.03385"));
  return registry;
}

}  // namespace tacit::cli
