// SPDX-License-Identifier: MIT
// A folder of images, a folder per class, for tests of the data set `images`.
#pragma once

#include "support/image_files.h"
#include "support/temp_dir.h"

namespace tacit::test {

class ImageFolder {
 public:
  std::filesystem::path path() const { return dir_.path(); }
  std::filesystem::path path(const std::string& name) const { return dir_.path() / name; }

  // PLACE/NAME.png and PLACE/NAME.jpg by turns, each another one.
  void add(const std::string& place, int count, int width = 40, int height = 30) {
    std::filesystem::create_directories(path(place));
    for (int i = 0; i < count; ++i) {
      const RawImage image = smooth_image(width + i % 5, height + i % 3, number_++);
      const std::string name = place + "/" + std::to_string(100 + i);
      i % 2 == 0 ? write_png(path(name + ".png"), image) : write_jpeg(path(name + ".jpg"), image);
    }
  }
  void spoil(const std::string& name) const { write_file(path(name), {'s', 'p', 'o', 'i', 'l', 't'}); }

 private:
  TempDir dir_;
  int number_ = 0;
};

}  // namespace tacit::test
