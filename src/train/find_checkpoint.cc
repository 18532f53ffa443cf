// SPDX-License-Identifier: MIT
#include "train/find_checkpoint.h"

#include <algorithm>
#include <array>

#include "checkpoint/state_file.h"
#include "checkpoint/store.h"
#include "collectives/gather.h"
#include "core/files.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostKept = 64;  // of which the newest count
constexpr std::int64_t kNone = -1;
using Steps = std::array<std::int64_t, kMostKept>;

bool is_checkpoint(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / Manifest::kName, error);
}

fs::path place_of(const fs::path& folder, std::int64_t step) {
  return is_checkpoint(folder) ? folder : CheckpointStore(folder).place(step);
}

Steps steps_in(const fs::path& folder) {
  Steps steps;
  steps.fill(kNone);
  if (is_checkpoint(folder)) {
    steps[0] = read_manifest(folder / Manifest::kName).step;
    return steps;
  }
  const std::vector<std::int64_t> all = CheckpointStore(folder).steps();
  std::copy_n(all.begin(), std::min(all.size(), kMostKept), steps.begin());
  return steps;
}

bool has(const Steps& steps, std::int64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

FoundCheckpoint open(const fs::path& folder, std::int64_t step) {
  const fs::path path = place_of(folder, step);
  return {path, read_manifest(path / Manifest::kName)};
}

[[noreturn]] void refuse_empty(const fs::path& folder, const std::string& who) {
  const std::error_code error = listing_error(folder);
  throw InvalidConfig("--resume " + folder.string() + ": " + who +
                      (error ? unreadable(folder, error) : "there is no whole checkpoint in it") +
                      "; give the folder of --checkpoint, or a checkpoint in it");
}

}  // namespace

FoundCheckpoint newest_checkpoint(const fs::path& folder) {
  const std::int64_t step = steps_in(folder)[0];
  if (step == kNone) refuse_empty(folder, "");
  return open(folder, step);
}

FoundCheckpoint common_checkpoint(Process& me, const fs::path& folder) {
  const auto all = gather_values(me.control(), steps_in(folder));
  for (const auto& [rank, steps] : all)
    if (steps[0] == kNone) refuse_empty(folder, "on rank " + std::to_string(rank) + " ");
  const Steps& mine = all.front().what;
  const auto common = std::find_if(mine.begin(), mine.end(), [&](std::int64_t step) {
    return step != kNone &&
           std::all_of(all.begin(), all.end(), [&](const auto& o) { return has(o.what, step); });
  });
  if (common == mine.end())
    throw InvalidConfig("--resume " + folder.string() +
                        ": there is no checkpoint that every rank has; copy the newest to every machine");
  const FoundCheckpoint found = open(folder, *common);
  const auto jobs = gather_values(me.control(), found.manifest.job);
  for (const auto& [rank, job] : jobs)
    if (job != jobs.front().what)
      throw InvalidConfig("--resume " + folder.string() + ": rank " + std::to_string(rank) +
                          " has the checkpoint of another run than rank " +
                          std::to_string(jobs.front().rank) + "; copy that of one run to every machine");
  return found;
}

std::vector<std::byte> state_in(const FoundCheckpoint& checkpoint, int rank) {
  const std::string name = state_file_name(rank);
  const fs::path file = checkpoint.path / name;
  check_file(checkpoint.path, checkpoint.manifest, name);
  const StateHeader header = read_state_header(file);
  const Manifest& m = checkpoint.manifest;
  if (header.job != m.job || header.step != m.step || header.rank != rank || header.ranks != m.ranks ||
      header.crc != m.find(name)->crc)
    throw InvalidConfig(file.string() +
                        " is of another run, step or rank than the manifest beside it says; resume from a "
                        "checkpoint whose files are together as they were written");
  return read_state(file);
}

}  // namespace tacit
