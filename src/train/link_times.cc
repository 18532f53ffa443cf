// SPDX-License-Identifier: MIT
#include "train/link_times.h"

#include <algorithm>
#include <sstream>

#include "means/compressed_mean.h"
#include "tacit/core/buffer.h"

namespace tacit {

LinkTimes time_compression(Comm& comm, Clock& clock, const Compression& how, Model& model) {
  constexpr int kTurns = 3;
  Buffer own;
  own.assign(model.params());
  const FloatView x = own.view();
  CompressedMean mean({how}, {x, model.tensors(), model.rows()}, comm);
  const auto timed = [&](const auto& exchange) {
    comm.barrier();
    const Seconds start = clock.now();
    exchange();
    return (clock.now() - start).count();
  };
  LinkTimes best{1e30, 1e30};
  for (std::int64_t turn = 0; turn < kTurns; ++turn) {
    best.plain = std::min(best.plain, timed([&] { comm.mean(x); }));
    const Rng rng(1, comm.rank(), turn, Rng::Use::kRounding);
    best.compressed = std::min(best.compressed, timed([&] { mean.mean(comm, x, {turn, rng}); }));
  }
  return best;
}

std::string milliseconds(double seconds) {
  std::ostringstream out;
  out.precision(3);
  out << 1000 * seconds << " ms";
  return out.str();
}

}  // namespace tacit
