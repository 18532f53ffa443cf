// SPDX-License-Identifier: MIT
// jpeglib.h uses what it does not include.
// clang-format off
#include <cstdio>
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include <array>

#include "images/escape.h"
#include "images/formats.h"

namespace tacit {
namespace {

constexpr std::size_t kInks = 4;
constexpr std::size_t kLights = 3;
// Each scan of a progressive file goes over the whole image, however few bytes it has.
constexpr int kMostScans = 500;

// Warnings after which pixels are made up.
bool loses_pixels(int code) {
  return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
         code == JWRN_MUST_RESYNC;
}

struct JpegErrors {
  jpeg_error_mgr base;  // first: the library hands its address back
  Escape escape;
};

[[noreturn]] void on_error(j_common_ptr jpeg) {
  std::array<char, JMSG_LENGTH_MAX> text{};
  (*jpeg->err->format_message)(jpeg, text.data());
  reinterpret_cast<JpegErrors*>(jpeg->err)->escape.leave(text.data());
}

void on_message(j_common_ptr jpeg, int level) {
  if (level < 0 && loses_pixels(jpeg->err->msg_code)) on_error(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMostScans)
    reinterpret_cast<JpegErrors*>(jpeg->err)->escape.leave("it has more than 500 scans");
}

// Red, green and blue in the place of inks. Adobe's files hold how much light they let through.
void lights_of_inks(std::vector<std::uint8_t>& pixels, bool is_light) {
  const auto light = [&](std::uint8_t ink) { return is_light ? unsigned{ink} : 255U - ink; };
  const std::size_t count = pixels.size() / kInks;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < kLights; ++c) {
      const unsigned product = light(pixels[i * kInks + c]) * light(pixels[i * kInks + kLights]);
      pixels[i * kLights + c] = static_cast<std::uint8_t>((product + 127U) / 255U);
    }
  pixels.resize(count * kLights);
}

class JpegReader {
 public:
  explicit JpegReader(ConstBytes file) {
    jpeg_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = on_error;
    errors_.base.emit_message = on_message;
    progress_.progress_monitor = on_progress;
    errors_.escape.guard([&] { jpeg_create_decompress(&jpeg_); });
    jpeg_.progress = &progress_;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Extent header() {
    errors_.escape.guard([&] { jpeg_read_header(&jpeg_, TRUE); });
    const Extent extent{static_cast<int>(jpeg_.image_width), static_cast<int>(jpeg_.image_height)};
    require_few_pixels(extent);
    return extent;
  }

  Picture pixels(int shrink) {
    header();
    const bool inks = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    jpeg_.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    jpeg_.scale_num = 1;
    jpeg_.scale_denom = static_cast<unsigned>(shrink);
    errors_.escape.guard([&] { jpeg_start_decompress(&jpeg_); });
    Picture picture{{static_cast<int>(jpeg_.output_width), static_cast<int>(jpeg_.output_height)}, {}};
    const std::size_t row = std::size_t{jpeg_.output_width} * (inks ? kInks : kLights);
    picture.rgb.resize(row * jpeg_.output_height);
    JSAMPLE* const first = picture.rgb.data();
    errors_.escape.guard([&] {
      while (jpeg_.output_scanline < jpeg_.output_height) {
        JSAMPROW at = first + row * jpeg_.output_scanline;
        jpeg_read_scanlines(&jpeg_, &at, 1);
      }
      jpeg_finish_decompress(&jpeg_);
    });
    if (inks) lights_of_inks(picture.rgb, jpeg_.saw_Adobe_marker != 0);
    return picture;
  }

 private:
  jpeg_decompress_struct jpeg_{};
  JpegErrors errors_{};
  jpeg_progress_mgr progress_{};
};

}  // namespace

Extent read_jpeg_extent(ConstBytes file) { return JpegReader(file).header(); }

Picture decode_jpeg(ConstBytes file, int shrink) { return JpegReader(file).pixels(shrink); }

}  // namespace tacit
