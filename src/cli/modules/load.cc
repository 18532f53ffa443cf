// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "cli/modules/build_id.h"
#include "cli/modules/module.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

// A module, in the words of the sentences that say why it cannot be loaded.
struct Kind {
  const char* file;
  const char* who_needs;
  const char* package;  // of the library it needs
  const char* install;  // to have it
  const char* instead;
};
constexpr Kind kTorch{"tacit-torch.so", "the models of LibTorch need", "libtorch-dev",
                      "tacit-torch, or libtorch-dev and build Tacit again", ", or use --model mlp"};
constexpr Kind kSim{"tacit-sim.so", "tacit simulate, compare and tune need", "libsimgrid-dev",
                    "libsimgrid-dev and build Tacit again", ""};

// Beside the program, as in a build tree, or where it was installed to, as seen from the program.
std::array<fs::path, 2> folders() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  return {program, (program / TACIT_MODULES).lexically_normal()};
}

// Empty where there is none.
fs::path find(const Kind& kind) {
  const auto places = folders();
  const auto found = std::find_if(places.begin(), places.end(), [&](const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / kind.file, error);
  });
  return found == places.end() ? fs::path() : *found / kind.file;
}

[[noreturn]] void refuse(const Kind& kind, const fs::path& file, const std::string& why) {
  throw InvalidConfig(fmt::format("{} {}, which cannot be loaded ({}); install {}{}", kind.who_needs,
                                  file.string(), why, kind.package, kind.instead));
}

// A module that this program was not built with may lack what it looks for here, or have what is no more here.
[[noreturn]] void refuse_other_build(const Kind& kind, const fs::path& file, const std::string& why) {
  throw InvalidConfig(
      fmt::format("{} {}, which is of another build than this program ({}); build and install "
                  "both together{}",
                  kind.who_needs, file.string(), why, kind.instead));
}

const void* load(const Kind& kind) {
  const fs::path file = find(kind);
  if (file.empty())
    throw InvalidConfig(fmt::format("{} {}, which is neither in {} nor in {}; install {}{}", kind.who_needs,
                                    kind.file, folders()[0].string(), folders()[1].string(), kind.install,
                                    kind.instead));
  // Lazy, because hundreds of libraries follow; the module itself is linked to be bound at once. Local, because
  // SimGrid's library has MPI's names.
  void* const module = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (module == nullptr) {
    const std::string why = dlerror();
    if (why.find("undefined symbol") != std::string::npos) refuse_other_build(kind, file, why);
    refuse(kind, file, why);
  }
  const auto entry = reinterpret_cast<decltype(&tacit_module)>(dlsym(module, "tacit_module"));
  if (entry == nullptr) refuse(kind, file, "it is no module of Tacit");
  const ModuleEntry made = entry();
  if (std::string_view(made.build) != kBuildId)
    refuse_other_build(kind, file, fmt::format("{} and {}", made.build, kBuildId));
  return made.functions;
}

}  // namespace

const TorchModule& torch_module() {
  static const auto* const module = static_cast<const TorchModule*>(load(kTorch));
  return *module;
}

const SimModule& sim_module() {
  static const auto* const module = static_cast<const SimModule*>(load(kSim));
  return *module;
}

bool has_torch_module() { return !find(kTorch).empty(); }

}  // namespace tacit::cli
