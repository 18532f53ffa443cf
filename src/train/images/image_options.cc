// SPDX-License-Identifier: MIT
#include "train/images/image_options.h"

#include <array>
#include <limits>

namespace tacit {
namespace {

constexpr auto kUnbounded = std::numeric_limits<std::int64_t>::max();

}  // namespace

ImageOptions read_image_options(OptionReader& options) {
  ImageOptions o;
  const std::array<std::string, 2> crops{"random", "middle"};
  o.path =
      options.text("path", "", {"folder with a folder of images for each class, or with train and test"});
  o.size = static_cast<int>(options.integer("size", o.size, 8, 1024, {"pixels along each side of a sample"}));
  o.test_given = options.given("test");
  o.test = options.number("test", o.test, 0.001, 0.9,
                          {"share that is held out where there is no folder to test on"});
  o.holdout = options.integer("holdout", 0, 0, kUnbounded,
                              {"training samples that take the place of the test set; 0: none"});
  o.limit = options.integer("limit", 0, 0, kUnbounded, {"training samples that are kept; 0: all"});
  o.random_crop = options.choice("crop", crops[0], crops, {"what of a training image is shown"}) == crops[0];
  options.only_with("area", o.random_crop, "crop=random");
  o.area = options.number("area", o.area, 0.01, 1, {"least share of an image that a random crop shows"});
  o.flip = options.flag("flip", o.flip, {"mirror half of the training images"});
  o.bad = options.number("bad", o.bad, 0, 1, {"share of the files that may be bad before the run ends"});
  o.threads = static_cast<int>(options.integer(
      "threads", 0, 0, 256, {"threads that decode, in each process", "the process's share of the cores"}));
  o.seed = static_cast<std::uint64_t>(
      options.integer("seed", 1, 0, kUnbounded, {"of which samples are held out and kept"}));
  return o;
}

}  // namespace tacit
