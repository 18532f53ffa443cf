// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/core/state.h"

namespace tacit {

// eta_{t-1}, for residuals of gradients: these are multiplied by eta_t later, and what is left of them was not by
// eta_{t-1}.
class LastRate {
 public:
  // eta_{t-1}/eta_t. While eta is 0 nothing is applied, and residuals wait for the next eta as they are.
  float rescale(float lr) const { return lr > 0 && last_ > 0 ? last_ / lr : 1; }
  void remember(float lr) {
    if (lr > 0) last_ = lr;
  }
  void save(StateWriter& state) const { state.write("mean.last_lr", std::as_bytes(std::span(&last_, 1))); }
  void load(StateReader& state) { state.read("mean.last_lr", std::as_writable_bytes(std::span(&last_, 1))); }

 private:
  float last_ = 0;  // 0: there was none
};

}  // namespace tacit
