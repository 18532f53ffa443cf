// SPDX-License-Identifier: MIT
// Which form a mean has, from what the strategy asks for and what the run compresses with.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "tacit/strategy/mean.h"
#include "tacit/strategy/worker.h"

namespace tacit {

struct MeanCodec;  // means/compressed_mean.h

// For vectors like w.params(), whose parts that begin() will be given are w.buckets(). compress: the run's, if it has one.
// Throws InvalidConfig where they do not go together.
std::unique_ptr<Mean> make_mean(Worker& w, const MeanOptions& options,
                                const std::optional<Compression>& compress);

// The forms.
std::unique_ptr<Mean> make_plain_mean();
std::unique_ptr<Mean> make_server_mean(Worker& w, int servers, std::span<const Slice> buckets);
std::unique_ptr<Mean> make_coded_mean(Worker& w, const MeanOptions& options, const MeanCodec& codec,
                                      std::span<const Slice> buckets);

}  // namespace tacit
