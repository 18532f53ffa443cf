// SPDX-License-Identifier: MIT
// The files of a set of images, a folder per class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tacit {

// Names alone, one behind the other, so that a million files take some tens of megabytes.
class ImageList {
 public:
  ImageList(std::filesystem::path folder, std::vector<std::string> classes);

  // `label` is the number of a class.
  void add(std::size_t label, std::string_view name);
  std::size_t size() const { return labels_.size(); }
  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::string>& classes() const { return classes_; }
  std::uint16_t label(std::size_t file) const { return labels_[file]; }
  // Of the folder: "cats/7.jpg".
  std::string name(std::size_t file) const;
  std::filesystem::path path(std::size_t file) const { return folder_ / name(file); }
  std::vector<std::uint32_t> labels() const { return {labels_.begin(), labels_.end()}; }
  // These of the files, in this order.
  ImageList only(const std::vector<std::uint32_t>& files) const;

 private:
  std::filesystem::path folder_;
  std::vector<std::string> classes_;
  std::string names_;
  std::vector<std::uint64_t> ends_;  // in names_
  std::vector<std::uint16_t> labels_;
};

struct ListOptions {
  std::filesystem::path path;
  double test = 0;           // share that is held out where there is no folder to test on
  bool test_given = false;   // by the user
  std::int64_t holdout = 0;  // training samples that take the place of the test set, where not 0
  std::int64_t limit = 0;    // training samples that are kept, where not 0
  std::uint64_t seed = 1;
};

struct ListPair {
  ImageList train;
  ImageList test;
};

// PATH/train and PATH/test or PATH/val, or a part of PATH, held out. Reads folders and opens no file. Throws
// InvalidConfig, for a layout of which nothing can be learned too.
ListPair list_images(const ListOptions& options);

}  // namespace tacit
