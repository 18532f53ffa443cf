// SPDX-License-Identifier: MIT
#include <algorithm>
#include <thread>
#include <utility>

#include "tacit/core/error.h"
#include "train/images/image_list.h"
#include "train/images/image_options.h"
#include "train/images/image_samples.h"
#include "train/images/images_info.h"

namespace tacit {
namespace {

int threads_of(const ImageOptions& o, const LoadPlace& place) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return o.threads > 0 ? o.threads : std::max(1, cores / std::max(1, place.processes));
}

DataPair load(const ImageOptions& o, const LoadPlace& place) {
  if (o.path.empty())
    throw InvalidConfig("images has no path; give path=DIR with DIR/CLASS/*.jpg, or DIR/train/CLASS/*.jpg");
  ListPair lists = list_images({o.path, o.test, o.test_given, o.holdout, o.limit, o.seed});
  const ImageShape shape{3, o.size, o.size};
  const int classes = static_cast<int>(lists.train.classes().size());
  const int threads = threads_of(o, place);
  const ImageLook trained{o.size, o.random_crop, o.area, o.flip};
  const ImageLook tested{o.size, false, 1, false};
  return {{shape, classes, std::make_unique<ImageSamples>(std::move(lists.train), trained, o.bad, threads)},
          {shape, classes, std::make_unique<ImageSamples>(std::move(lists.test), tested, o.bad, threads)}};
}

}  // namespace

DatasetInfo images_info() {
  return images_card([](OptionReader& options) -> LoadData {
    return [o = read_image_options(options)](const LoadPlace& place) { return load(o, place); };
  });
}

}  // namespace tacit
