// SPDX-License-Identifier: MIT
#include "tacit/core/error.h"
#include "train/images/image_options.h"
#include "train/images/images_info.h"

namespace tacit {

DatasetInfo images_info() {
  return images_card([](OptionReader& options) -> LoadData {
    read_image_options(options);
    return [](const LoadPlace&) -> DataPair {
      throw InvalidConfig(
          "data set images: this build has no decoders; install libjpeg-dev and libpng-dev and build it "
          "again");
    };
  });
}

}  // namespace tacit
