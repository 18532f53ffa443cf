// SPDX-License-Identifier: MIT
// How the run of a Replicated is saved and gone on with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "adapters/torch/torch_worker.h"
#include "tacit/strategy/strategy.h"
#include "train/checkpointer.h"

namespace tacit::torch {

// Collective.
//
// Lifetime  all that it is given must outlive it. Threads: the rank's own.
class Checkpoints {
 public:
  struct Parts {
    Process& process;
    ::torch::optim::Optimizer& optimizer;
    FlatModule& flat;
    TorchWorker& worker;
    const std::unique_ptr<Strategy>& strategy;  // made after this
    std::string strategy_text;
    std::string compress;
  };
  explicit Checkpoints(Parts parts) : parts_(std::move(parts)) {}

  void save(const std::string& folder, int keep);
  // Returns the steps done. Throws InvalidConfig.
  std::int64_t load(const std::string& folder);
  // After each step.
  void look() {
    if (writer_) writer_->look();
  }
  void finish() {
    if (writer_) writer_->finish();
  }

 private:
  CheckpointSettings settings() const;
  std::unique_ptr<const ModelCopy> copy_model();

  const Parts parts_;
  std::string folder_;                    // that writer_ writes to
  std::unique_ptr<Checkpointer> writer_;  // from the first save() on
  std::optional<std::uint64_t> job_;      // of the run that this one goes on with
};

}  // namespace tacit::torch
