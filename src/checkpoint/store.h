// SPDX-License-Identifier: MIT
// A folder of checkpoints. Each is a folder of its own, step-000000001200: the model as model.safetensors, a state per
// rank, a manifest. It is made under another name, .step-000000001200.JOB.part, and renamed when all of it is on the
// disk: whoever finds it finds it whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"

namespace tacit {

constexpr const char* kModelFile = "model.safetensors";

// Threads  one at a time; processes that share the folder too, by whoever commits.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  // Makes it where it is missing. Throws InvalidConfig where that cannot be, or it cannot be written to.
  void make() const;
  // Where the files of a checkpoint go before it is whole; makes that folder. Throws Error.
  std::filesystem::path draft(std::uint64_t job, std::int64_t step) const;
  std::filesystem::path place(std::int64_t step) const;
  // Adds to the manifest the states that are in the draft, writes it and gives the draft its name. Throws Error.
  void commit(Manifest manifest) const;
  // Removes what there is of a draft.
  void drop(std::uint64_t job, std::int64_t step) const;
  // Removes all checkpoints but so many of the newest.
  void keep(int newest) const;
  // Removes drafts that a process left behind which died.
  void drop_drafts() const;
  // Of the checkpoints that are whole, the newest first.
  std::vector<std::int64_t> steps() const;

 private:
  std::filesystem::path draft_name(std::uint64_t job, std::int64_t step) const;

  std::filesystem::path folder_;
};

// Checks a file of a checkpoint against the manifest. Throws InvalidConfig that names it.
void check_file(const std::filesystem::path& checkpoint, const Manifest& manifest, const std::string& name);

}  // namespace tacit
