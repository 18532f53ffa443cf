// SPDX-License-Identifier: MIT
#include <png.h>

#include <new>

#include "images/escape.h"
#include "images/formats.h"

namespace tacit {
namespace {

constexpr std::size_t kLights = 3;

class PngReader {
 public:
  explicit PngReader(ConstBytes file)
      : left_(file), png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &escape_, on_error, on_warning)) {
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, this, take);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Extent header() {
    escape_.guard([&] { png_read_info(png_, info_); });
    const Extent extent{static_cast<int>(png_get_image_width(png_, info_)),
                        static_cast<int>(png_get_image_height(png_, info_))};
    require_few_pixels(extent);
    return extent;
  }

  Picture pixels() {
    Picture picture{header(), {}};
    int passes = 1;
    escape_.guard([&] {
      png_set_expand(png_);
      png_set_scale_16(png_);
      png_set_gray_to_rgb(png_);
      png_set_strip_alpha(png_);
      passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    const std::size_t row = kLights * static_cast<std::size_t>(picture.extent.width);
    TACIT_CHECK(png_get_rowbytes(png_, info_) == row, "every PNG comes out as red, green and blue");
    const auto rows = static_cast<std::size_t>(picture.extent.height);
    picture.rgb.resize(row * rows);
    png_byte* const first = picture.rgb.data();
    escape_.guard([&] {
      for (int pass = 0; pass < passes; ++pass)
        for (std::size_t y = 0; y < rows; ++y) png_read_row(png_, first + y * row, nullptr);
      png_read_end(png_, nullptr);
    });
    return picture;
  }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp why) {
    static_cast<Escape*>(png_get_error_ptr(png))->leave(why);
  }
  static void on_warning(png_structp /*png*/, png_const_charp /*what*/) {}
  static void take(png_structp png, png_bytep to, std::size_t count) {
    auto& left = static_cast<PngReader*>(png_get_io_ptr(png))->left_;
    if (count > left.size()) png_error(png, "it ends early");
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<png_byte>(left[i]);
    left = left.subspan(count);
  }

  Escape escape_;
  ConstBytes left_;
  png_structp png_;
  png_infop info_ = nullptr;
};

}  // namespace

Extent read_png_extent(ConstBytes file) { return PngReader(file).header(); }

Picture decode_png(ConstBytes file) { return PngReader(file).pixels(); }

}  // namespace tacit
