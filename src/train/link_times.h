// SPDX-License-Identifier: MIT
// Whether compressing pays on the link there is.
#pragma once

#include <string>

#include "tacit/collectives/comm.h"
#include "tacit/compress/compression.h"
#include "tacit/core/clock.h"
#include "tacit/train/model.h"

namespace tacit {

// Seconds of one mean over all ranks of a vector like the model's gradient.
struct LinkTimes {
  double plain = 0;
  double compressed = 0;
};

// The best of a few turns of each. Collective.
LinkTimes time_compression(Comm& comm, Clock& clock, const Compression& how, Model& model);

std::string milliseconds(double seconds);

}  // namespace tacit
