// SPDX-License-Identifier: MIT
#include "checkpoint/store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "checkpoint/state_file.h"
#include "core/hash.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"
#include "tacit/core/version.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-";
constexpr std::string_view kPart = ".part";
constexpr std::size_t kDigits = 12;  // so that names sort as steps do

std::string step_name(std::int64_t step) {
  const std::string digits = std::to_string(step);
  return std::string(kStep) + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

std::optional<std::int64_t> step_in(const std::string& name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kStep.size(), end, step);
  if (error != std::errc{} || rest != end || step < 0) return std::nullopt;
  return step;
}

std::vector<fs::path> inside(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    all.push_back(each->path());
  return all;
}

void erase(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

void CheckpointStore::make() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error && ::access(folder_.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error || !fs::is_directory(folder_))
    throw InvalidConfig("cannot write checkpoints to " + folder_.string() + " (" +
                        (error ? error.message() : "a file is in the way") +
                        "); give --checkpoint a folder you may write to");
}

fs::path CheckpointStore::draft_name(std::uint64_t job, std::int64_t step) const {
  return folder_ / ("." + step_name(step) + "." + hash_text(job) + std::string(kPart));
}

fs::path CheckpointStore::draft(std::uint64_t job, std::int64_t step) const {
  const fs::path draft = draft_name(job, step);
  std::error_code error;
  fs::create_directories(draft, error);
  if (error) throw Error("cannot make the folder " + draft.string() + " (" + error.message() + ")");
  return draft;
}

fs::path CheckpointStore::place(std::int64_t step) const { return folder_ / step_name(step); }

void CheckpointStore::commit(Manifest manifest) const {
  const fs::path draft = draft_name(manifest.job, manifest.step);
  const fs::path place = this->place(manifest.step);
  manifest.version = version();
  try {
    for (int rank = 0; rank < manifest.ranks; ++rank) {
      const std::string name = state_file_name(rank);
      if (!fs::exists(draft / name)) continue;  // on another disk
      manifest.files.push_back({name, fs::file_size(draft / name), read_state_header(draft / name).crc});
    }
    write_whole_file(draft / Manifest::kName, to_json_text(manifest));
    erase(place);  // of an earlier try to come this far
    fs::rename(draft, place);
  } catch (const fs::filesystem_error& error) {
    throw Error("cannot finish the checkpoint " + place.string() + " (" + error.code().message() + ")");
  }
  sync_folder(folder_);
}

void CheckpointStore::drop(std::uint64_t job, std::int64_t step) const { erase(draft_name(job, step)); }

void CheckpointStore::keep(int newest) const {
  const std::vector<std::int64_t> all = steps();
  for (std::size_t i = static_cast<std::size_t>(newest); i < all.size(); ++i) {
    // Without a manifest it is not one any more, should this end half-way.
    erase(place(all[i]) / Manifest::kName);
    erase(place(all[i]));
  }
}

void CheckpointStore::drop_drafts() const {
  for (const fs::path& each : inside(folder_)) {
    const std::string name = each.filename().string();
    if (name.starts_with("." + std::string(kStep)) && name.ends_with(kPart)) erase(each);
  }
}

std::vector<std::int64_t> CheckpointStore::steps() const {
  std::vector<std::int64_t> all;
  std::error_code error;
  for (const fs::path& each : inside(folder_))
    if (const auto step = step_in(each.filename().string());
        step && fs::exists(each / Manifest::kName, error))
      all.push_back(*step);
  std::sort(all.rbegin(), all.rend());
  return all;
}

void check_file(const fs::path& checkpoint, const Manifest& manifest, const std::string& name) {
  const fs::path file = checkpoint / name;
  const auto refuse = [&](const std::string& why) {
    throw InvalidConfig(file.string() + " " + why + "; resume from another checkpoint");
  };
  const Manifest::File* wanted = manifest.find(name);
  if (wanted == nullptr)
    refuse("is not in the manifest: the checkpoint is of other ranks, or of another disk");
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error) refuse("is missing");
  if (bytes != wanted->bytes)
    refuse("has " + std::to_string(bytes) + " bytes where the manifest says " +
           std::to_string(wanted->bytes) + ": it is cut short or damaged");
}

}  // namespace tacit
