// SPDX-License-Identifier: MIT
// Gradients that leave while backward() computes the others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "adapters/torch/flat_module.h"
#include "adapters/torch/gradient_hooks.h"
#include "tacit/core/buffer.h"
#include "train/readiness.h"

namespace tacit::torch {

// A loop says nothing before backward(), so that this learns from its steps: where each had one backward pass, whose
// gradients step() found as they were, those of the next leave as they become final. From the first step that had more
// (micro-batches, samples, a second pass, gradients changed before step()) on none does any more. Each rank learns for
// itself: what has not left by step() leaves there, in the same order, so that others see no difference but in time.
//
// What leaves is a copy, and what the loop does to its gradients meanwhile is noticed and not mixed with it.
//
// Threads  the rank's own; hooks on other threads are not listened to.
// Errors   InvalidConfig for a step that is not like those before it, after gradients have left.
class Overlap {
 public:
  // Where not `allowed`, everything leaves in step().
  Overlap(FlatModule& flat, std::size_t bucket_floats, bool allowed, Readiness::Tell tell);

  Readiness& readiness() { return readiness_; }
  // What strategies see: the copy once something has left, otherwise the module's own.
  FloatView gradient();

  // The gradients are the loop's final ones, which are in the flat memory now: refuses what left too early. `plain`: one
  // batch that counts as those of the other ranks.
  void close(const std::string& call, bool plain);
  // Refuses a call that comes after gradients have left and before the step that they belong to.
  void require_none(const std::string& call) const;
  // Tells of what is left.
  void finish();
  // Of the next gradient nothing has left.
  void next();

 private:
  struct Seen {
    bool added = false;
    std::vector<float> sample;  // a few of its values
  };
  void added(std::size_t tensor);
  void look_at(std::size_t tensor, ConstFloatView values);
  bool changed(std::size_t tensor);
  bool begun() const { return readiness_.told() > 0; }
  [[noreturn]] void refuse(const std::string& call, const std::string& what) const;

  FlatModule& flat_;
  const std::thread::id thread_ = std::this_thread::get_id();
  Readiness readiness_;
  Buffer copy_;
  std::vector<Seen> seen_;
  std::optional<std::size_t> twice_;  // a tensor with two passes since the last step
  bool listening_ = true;             // not in a step, whose own passes do not count
  bool early_ = false;                // something had left when the step began
  bool armed_ = false;                // the next gradient leaves early
  bool spoiled_;                      // none does any more
  std::optional<GradientHooks> hooks_;
};

}  // namespace tacit::torch
