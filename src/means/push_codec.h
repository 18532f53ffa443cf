// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tacit/protocols/shards.h"
#include "tacit/strategy/push_codec.h"
#include "tacit/strategy/worker.h"

namespace tacit {

// For vectors like w.params() and so many servers. compress: the run's, if it has one.
std::vector<std::unique_ptr<PushCodec>> make_push_codecs(Worker& w, int servers,
                                                         const std::optional<Compression>& compress);

}  // namespace tacit
