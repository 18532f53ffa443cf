// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/core/views.h"
#include "tacit/train/dataset.h"
#include "tacit/train/model.h"

namespace tacit {

// Of these samples, in batches of a size that does not depend on how many they are; `batch` is memory that is reused.
Score score_samples(Model& model, const Dataset& data, Slice samples, Batch& batch);

}  // namespace tacit
