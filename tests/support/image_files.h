// SPDX-License-Identifier: MIT
// Writes images as files, for tests and benchmarks.
#pragma once

// jpeglib.h uses what it does not include.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <png.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace tacit::test {

using ImageFileBytes = std::vector<std::uint8_t>;

// Values row by row, the channels of a pixel beside each other.
struct RawImage {
  int width = 0;
  int height = 0;
  int channels = 3;
  ImageFileBytes values;
};

// Every pixel alike.
inline RawImage flat_image(int width, int height, const ImageFileBytes& pixel) {
  RawImage image{width, height, static_cast<int>(pixel.size()), {}};
  for (int i = 0; i < width * height; ++i)
    image.values.insert(image.values.end(), pixel.begin(), pixel.end());
  return image;
}

// Smooth, and another one for each number.
inline RawImage smooth_image(int width, int height, int number) {
  RawImage image{width, height, 3, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int value : {x * 255 / width, y * 255 / height, (x + y + 37 * number) % 256})
        image.values.push_back(static_cast<std::uint8_t>(value));
  return image;
}

inline void write_file(const std::filesystem::path& path, const ImageFileBytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline ImageFileBytes read_whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return ImageFileBytes(std::istreambuf_iterator<char>(in), {});
}

// Of one channel a grey one, of three a coloured one, of four one of inks.
inline ImageFileBytes jpeg_of(const RawImage& image, int quality = 95) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = image.channels;
  jpeg.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : image.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  const std::size_t row = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* at = const_cast<JSAMPROW>(image.values.data() + row * jpeg.next_scanline);
    jpeg_write_scanlines(&jpeg, &at, 1);
  }
  jpeg_finish_compress(&jpeg);
  ImageFileBytes file(bytes, bytes + size);
  std::free(bytes);  // NOLINT(cppcoreguidelines-no-malloc): the library's
  jpeg_destroy_compress(&jpeg);
  return file;
}

inline void write_jpeg(const std::filesystem::path& path, const RawImage& image) {
  write_file(path, jpeg_of(image));
}

// How a PNG holds its values.
struct PngForm {
  int color_type = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  bool interlaced = false;
  std::vector<png_color> palette{};
};

// The values are as the form has them, row by row, each row of whole bytes.
inline void write_png(const std::filesystem::path& path, const RawImage& image, const PngForm& form = {}) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error("cannot write " + path.string());
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height),
               form.bits, form.color_type, form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!form.palette.empty())
    png_set_PLTE(png, info, form.palette.data(), static_cast<int>(form.palette.size()));
  png_write_info(png, info);
  const std::size_t row = png_get_rowbytes(png, info);
  std::vector<png_bytep> rows;
  for (int y = 0; y < image.height; ++y)
    rows.push_back(const_cast<png_bytep>(image.values.data() + row * static_cast<std::size_t>(y)));
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

}  // namespace tacit::test
