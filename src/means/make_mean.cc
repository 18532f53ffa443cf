// SPDX-License-Identifier: MIT
#include "means/make_mean.h"

#include <string>

#include "means/compressed_mean.h"
#include "tacit/core/error.h"

namespace tacit {

std::unique_ptr<Mean> make_mean(Worker& w, const MeanOptions& options,
                                const std::optional<Compression>& compress) {
  if (options.servers > 0) {
    if (compress)
      throw InvalidConfig("servers=" + std::to_string(options.servers) + " does not take the compressor " +
                          compress->text + ": what servers average and send back is not compressed");
    return make_server_mean(w, options.servers, w.buckets());
  }
  if (const auto& silence = options.silence) {
    const Compression up = silence->up ? *silence->up
                           : compress  ? *compress
                                       : Compression::parse(silence->otherwise);
    return make_coded_mean(w, options, {up, silence->down, true}, {});
  }
  if (compress) return make_coded_mean(w, options, {*compress}, w.buckets());
  return make_plain_mean();
}

}  // namespace tacit
