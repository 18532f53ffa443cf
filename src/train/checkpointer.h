// SPDX-License-Identifier: MIT
// Writes checkpoints beside the training.
//
//   write()  every rank has a copy of its state; a task of each writes it to a draft of the checkpoint
//   look()   all written: one rank per disk gives the draft its name; some failed: the draft goes
//   look()   all named: what is older than the newest so many goes
//
// Nothing older is removed before every disk has the newer one, and a name is given to what is whole alone: whenever
// processes are killed, some checkpoint is whole on all disks.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/store.h"
#include "tacit/core/state.h"
#include "tacit/world/world.h"
#include "train/model_file.h"

namespace tacit {

// Collective: all ranks call the same methods between the same steps. What it says to others goes over the control lane.
//
// Threads  the trainer's; a task of its own writes.
// Errors   what Comm throws. A checkpoint that cannot be written is warned of, and the run goes on.
class Checkpointer {
 public:
  struct Given {
    std::filesystem::path folder;
    int keep = 1;
    std::uint64_t job = 0;  // the same on every rank: draw_job()
    CheckpointSettings settings;
    std::function<void(const std::string&)> warn;  // by the lowest rank that something happened to
  };
  // Throws InvalidConfig, on every rank, where one of them cannot write there. A rank that has come back is alone with
  // that, and gives no names.
  Checkpointer(Process& me, Given given);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // After so many steps. The one before ends first. The model is written by the rank that gives it, one of them.
  void write(std::int64_t step, StateWriter state, std::unique_ptr<const ModelCopy> model);
  // After each step. Ranks ask each other after 1, 2, 4, ... steps whether all have written.
  void look();
  // Returns when nothing is under way.
  void finish();
  bool busy() const { return draft_ != nullptr; }
  std::uint64_t job() const { return given_.job; }

 private:
  struct Draft {
    std::int64_t step = 0;
    StateWriter state;
    std::unique_ptr<const ModelCopy> model;
    std::uint32_t model_crc = 0;
    std::string error;              // why it could not be written
    std::atomic<bool> done{false};  // what is above is the trainer's again
  };
  enum class Phase { kWriting, kNaming };
  enum class Said : std::int32_t { kNotYet, kDone, kFailed };

  void write_draft(Draft& draft) const;
  Said name_draft();
  // Asks all ranks; goes on to the next phase where all are done. Where one has failed nothing is under way afterwards.
  void ask();
  void give_up(int rank);
  Manifest manifest() const;

  Process& me_;
  const Given given_;
  const CheckpointStore store_;
  bool names_ = false;            // of the ranks that share this disk, this one gives names
  std::unique_ptr<Draft> draft_;  // under way
  std::unique_ptr<Task> task_;    // that writes it
  Phase phase_ = Phase::kWriting;
  Said said_ = Said::kNotYet;
  std::int64_t looks_ = 0;              // since write()
  std::int64_t next_ask_ = 0;           // of them
  std::optional<std::int64_t> newest_;  // whole
};

// A number for a run that no other has; the same on every rank. Collective.
std::uint64_t draw_job(Process& me);

}  // namespace tacit
