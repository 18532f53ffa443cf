// SPDX-License-Identifier: MIT
// Writes the seeds of the target `images`.
//   make_image_corpus FOLDER
#include <filesystem>

#include "support/image_files.h"

int main(int count, char** words) {
  using namespace tacit::test;
  if (count != 2) return 2;
  const std::filesystem::path folder = std::filesystem::path(words[1]) / "images";
  std::filesystem::create_directories(folder);
  const RawImage image = smooth_image(19, 17, 1);
  write_file(folder / "jpeg_of_colours", jpeg_of(image, 50));
  write_file(folder / "jpeg_of_grey", jpeg_of(flat_image(9, 9, {140}), 50));
  write_file(folder / "jpeg_of_inks", jpeg_of(flat_image(9, 9, {1, 2, 3, 4}), 50));
  write_png(folder / "png_of_colours", image);
  write_png(folder / "png_interlaced", image, {.interlaced = true});
  write_png(folder / "png_of_a_palette", flat_image(6, 3, {1}),
            {.color_type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {4, 5, 6}}});
  write_png(folder / "png_of_grey_bits", {8, 2, 1, {0xFF, 0xFF}},
            {.color_type = PNG_COLOR_TYPE_GRAY, .bits = 1});
  write_png(folder / "png_with_alpha", flat_image(6, 3, {9, 8, 7, 6}),
            {.color_type = PNG_COLOR_TYPE_RGB_ALPHA});
  return 0;
}
