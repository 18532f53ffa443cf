// SPDX-License-Identifier: MIT
#include <utility>

#include "train/images/images_info.h"

namespace tacit {

DatasetInfo images_card(std::function<LoadData(OptionReader&)> prepare) {
  return {"images", "JPEG and PNG files, a folder per class, decoded while steps are computed",
          "docs/data.md", "images:path=data/flowers,size=64", std::move(prepare)};
}

}  // namespace tacit
