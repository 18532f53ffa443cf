// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/train/dataset.h"

namespace tacit {

// The entry of `images`. Which of two files makes it is CMake's choice: where libjpeg or libpng is absent, loading says
// what to install.
DatasetInfo images_info();

// The entry, but for how it is loaded.
DatasetInfo images_card(std::function<LoadData(OptionReader&)> prepare);

}  // namespace tacit
