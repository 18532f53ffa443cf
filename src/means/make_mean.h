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

// How a run sends its means.
struct MeanForm {
  std::optional<Compression> compress;  // nothing where it does not
  std::span<const Slice>
      buckets{};  // what begin() will be given, in that order; none where it will not be called
};
// For vectors like w.params(). Throws InvalidConfig where they do not go together.
std::unique_ptr<Mean> make_mean(Worker& w, const MeanOptions& options, const MeanForm& form);

// The forms.
std::unique_ptr<Mean> make_plain_mean();
std::unique_ptr<Mean> make_server_mean(Worker& w, int servers, std::span<const Slice> buckets);
std::unique_ptr<Mean> make_coded_mean(Worker& w, const MeanOptions& options, const MeanCodec& codec,
                                      std::span<const Slice> buckets);

}  // namespace tacit
