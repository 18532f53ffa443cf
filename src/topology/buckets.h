// SPDX-License-Identifier: MIT
// How a gradient is cut for exchanges that begin while the rest of it is computed. Pure arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tacit/core/views.h"
#include "topology/chunks.h"

namespace tacit {

// In the order in which back-propagation fills them, from the last tensor down. A bucket has whole tensors and about so
// many floats, less than twice as many; a tensor that has more than a bucket is cut into even pieces. A function of the
// tensors and the size alone, so that every rank and every world sums in the same order.
//
// The tensors lie side by side, in their order.
class Buckets {
 public:
  Buckets(std::span<const Slice> tensors, std::size_t floats) {
    std::size_t end = tensors.empty() ? 0 : tensors.back().offset + tensors.back().count;
    for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
      const std::size_t count = end - tensor->offset;
      if (count < std::max<std::size_t>(1, floats)) continue;
      cut({tensor->offset, count}, floats);
      end = tensor->offset;
    }
    if (end > 0) all_.push_back({0, end});
  }

  std::span<const Slice> all() const { return all_; }
  std::size_t size() const { return all_.size(); }

 private:
  void cut(Slice whole, std::size_t floats) {
    const auto pieces = static_cast<int>(whole.count / std::max<std::size_t>(1, floats));
    for (int i = pieces - 1; i >= 0; --i) {
      const Slice piece = chunk(whole.count, pieces, i);
      if (piece.count > 0) all_.push_back({whole.offset + piece.offset, piece.count});
    }
  }

  std::vector<Slice> all_;
};

}  // namespace tacit
