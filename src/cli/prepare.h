// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include "tacit/train/dataset.h"
#include "tacit/world/world.h"

namespace tacit::cli {

// Where the data of such a world are loaded.
inline LoadPlace place_in(const World& world) { return {world.one_process() ? 1 : world.local_ranks()}; }

// Makes what a run needs. Peers in other processes wait for this one: they learn why it does not come.
template <typename T, typename... Arguments>
std::unique_ptr<T> prepare(World& world, Arguments&&... arguments) {
  try {
    return std::make_unique<T>(std::forward<Arguments>(arguments)...);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    if (!world.one_process()) world.run([&](Process&) { std::rethrow_exception(error); });
    throw;
  }
}

}  // namespace tacit::cli
