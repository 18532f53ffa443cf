// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tacit/collectives/background.h"

namespace tacit {

// Several exchanges as one.
class AllPending final : public Pending {
 public:
  explicit AllPending(std::vector<std::unique_ptr<Pending>> all) : all_(std::move(all)) {}
  void wait() override {
    for (const auto& each : all_) each->wait();
  }
  bool done() override {
    return std::all_of(all_.begin(), all_.end(), [](const auto& each) { return each->done(); });
  }

 private:
  const std::vector<std::unique_ptr<Pending>> all_;
};

}  // namespace tacit
