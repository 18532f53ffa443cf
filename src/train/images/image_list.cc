// SPDX-License-Identifier: MIT
#include "train/images/image_list.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "tacit/core/error.h"
#include "tacit/core/rng.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostClasses = std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1;
constexpr std::int64_t kHoldOut = 0;  // addresses of draws
constexpr std::int64_t kLimit = 1;

[[noreturn]] void refuse(const std::string& what) { throw InvalidConfig("data set images: " + what); }

bool is_image(const std::string& name) {
  std::string ending = fs::path(name).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

// Names of the folders in a folder, or of all else, sorted. Without hidden ones: there systems keep what is theirs.
std::vector<std::string> names_in(const fs::path& folder, bool folders) {
  if (const std::error_code error = listing_error(folder))
    refuse("the folder " + unreadable(folder, error) +
           "; give path=DIR with DIR/CLASS/*.jpg, or DIR/train/CLASS/*.jpg");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code unknown;
    std::string name = at->path().filename().string();
    if (!name.starts_with('.') && at->is_directory(unknown) == folders) names.push_back(std::move(name));
  }
  if (error) refuse("the folder " + unreadable(folder, error) + "; look at the disk it is on");
  std::sort(names.begin(), names.end());
  return names;
}

bool has_folder(const fs::path& folder) {
  std::error_code unknown;
  return fs::is_directory(folder, unknown);
}

std::vector<std::string> classes_in(const fs::path& folder) {
  std::vector<std::string> classes = names_in(folder, true);
  const std::string remedy = "; give path=DIR with DIR/CLASS/*.jpg, or DIR/train/CLASS/*.jpg";
  if (classes.empty()) refuse(folder.string() + " has no folder, which would be a class" + remedy);
  if (classes.size() == 1)
    refuse(folder.string() + " has one class alone, " + classes[0] + ", of which nothing can be learned" +
           remedy);
  if (classes.size() > kMostClasses)
    refuse(folder.string() + " has " + std::to_string(classes.size()) + " folders, where " +
           std::to_string(kMostClasses) + " classes are the most" + remedy);
  return classes;
}

void add_class(ImageList& list, std::size_t label) {
  for (const std::string& name : names_in(list.folder() / list.classes()[label], false))
    if (is_image(name)) list.add(label, name);
}

ImageList list_train(const fs::path& folder) {
  ImageList list(folder, classes_in(folder));
  for (std::size_t label = 0; label < list.classes().size(); ++label) {
    const std::size_t before = list.size();
    add_class(list, label);
    if (list.size() == before)
      refuse((folder / list.classes()[label]).string() +
             " has no image, which is a file whose name ends in .jpg, .jpeg or .png; add some, or remove the "
             "folder");
  }
  if (list.size() > std::numeric_limits<std::uint32_t>::max())
    refuse(folder.string() + " has " + std::to_string(list.size()) + " images, where 2^32 - 1 are the most");
  return list;
}

// A class may be without images there, but not without a folder to train on.
ImageList list_test(const fs::path& folder, const ImageList& train) {
  ImageList list(folder, train.classes());
  for (const std::string& name : names_in(folder, true)) {
    const auto found = std::lower_bound(train.classes().begin(), train.classes().end(), name);
    if (found == train.classes().end() || *found != name)
      refuse(folder.string() + " has the class " + name + ", which " + train.folder().string() +
             " has not; give both the same classes");
    add_class(list, static_cast<std::size_t>(found - train.classes().begin()));
  }
  if (list.size() == 0)
    refuse(folder.string() + " has no image to test on; add some, or remove the folder and say test=0.1");
  return list;
}

// So many files by lot, and all others; both in the order in which they were.
std::pair<ImageList, ImageList> divide(const ImageList& list, std::size_t count, std::uint64_t seed,
                                       std::int64_t draw) {
  std::vector<std::uint32_t> files(list.size());
  std::iota(files.begin(), files.end(), 0U);
  Rng rng(seed, Rng::kEveryRank, draw, Rng::Use::kData);
  for (std::size_t i = 0; i < count; ++i) std::swap(files[i], files[i + rng.below(files.size() - i)]);
  const auto middle = files.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<std::uint32_t> drawn(files.begin(), middle);
  std::vector<std::uint32_t> left(middle, files.end());
  std::sort(drawn.begin(), drawn.end());
  std::sort(left.begin(), left.end());
  return {list.only(drawn), list.only(left)};
}

ListPair hold_out(const ImageList& all, std::size_t count, std::uint64_t seed) {
  auto [test, train] = divide(all, count, seed, kHoldOut);
  return {std::move(train), std::move(test)};
}

std::optional<fs::path> test_folder(const fs::path& folder) {
  for (const char* name : {"test", "val"})
    if (has_folder(folder / name)) return folder / name;
  return std::nullopt;
}

ListPair split(const ListOptions& o) {
  const bool has_train = has_folder(o.path / "train");
  const ImageList all = list_train(has_train ? o.path / "train" : o.path);
  const std::optional<fs::path> tested = has_train ? test_folder(o.path) : std::nullopt;
  if (o.holdout >= static_cast<std::int64_t>(all.size()))
    refuse("holdout=" + std::to_string(o.holdout) + " leaves nothing of " + std::to_string(all.size()) +
           " training samples to train on; hold out fewer");
  if (o.holdout > 0) return hold_out(all, static_cast<std::size_t>(o.holdout), o.seed);
  if (tested && o.test_given)
    refuse("test=... holds out a part where there is no folder to test on, and there is " + tested->string() +
           "; leave it out, or say holdout=N");
  if (tested) return {all, list_test(*tested, all)};
  const double share = std::round(o.test * static_cast<double>(all.size()));
  const std::size_t count = std::clamp<std::size_t>(static_cast<std::size_t>(share), 1, all.size() - 1);
  return hold_out(all, count, o.seed);
}

}  // namespace

ImageList::ImageList(fs::path folder, std::vector<std::string> classes)
    : folder_(std::move(folder)), classes_(std::move(classes)) {}

void ImageList::add(std::size_t label, std::string_view name) {
  names_ += name;
  ends_.push_back(names_.size());
  labels_.push_back(static_cast<std::uint16_t>(label));
}

std::string ImageList::name(std::size_t file) const {
  const std::uint64_t begin = file == 0 ? 0 : ends_[file - 1];
  return classes_[labels_[file]] + "/" + names_.substr(begin, ends_[file] - begin);
}

ImageList ImageList::only(const std::vector<std::uint32_t>& files) const {
  ImageList list(folder_, classes_);
  for (const std::uint32_t file : files) {
    const std::uint64_t begin = file == 0 ? 0 : ends_[file - 1];
    list.add(labels_[file], std::string_view(names_).substr(begin, ends_[file] - begin));
  }
  return list;
}

ListPair list_images(const ListOptions& options) {
  names_in(options.path, true);  // refused by its own name before the folders in it
  ListPair pair = split(options);
  if (options.limit > 0 && options.limit < static_cast<std::int64_t>(pair.train.size()))
    pair.train = divide(pair.train, static_cast<std::size_t>(options.limit), options.seed, kLimit).first;
  return pair;
}

}  // namespace tacit
