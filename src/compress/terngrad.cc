// SPDX-License-Identifier: MIT
// TernGrad -- W. Wen, C. Xu, F. Yan, C. Wu, Y. Wang, Y. Chen, H. Li, NIPS 2017, arXiv:1705.07878.
//
// Rule    per bucket: m = max |v|; v_i becomes m sign(v_i) with probability |v_i| / m, else 0.
// Error   unbiased; E||Q(v) - v||^2 = sum |v_i| (m - |v_i|).
// Default bucket=4096. The paper's buckets are whole tensors, with values clipped to 2.5 standard deviations first;
//         smaller buckets bound m instead, and the result stays unbiased.
// Bytes   1/4 per value and 4 per bucket.
// Layout  levels.h, fixed width.
#include "compress/levels.h"
#include "compress/makers.h"

namespace tacit {

CompressorInfo terngrad_info() {
  return {"terngrad", "-1, 0 or 1 times the largest magnitude of a bucket, at random", "arXiv:1705.07878",
          "terngrad:bucket=4096", [](OptionReader& options) -> CompressorMaker {
            const auto bucket = static_cast<std::size_t>(
                options.integer("bucket", 4096, 8, 1 << 30, {"values that share one scale"}));
            const LevelRule rule{.who = "terngrad", .levels = 1, .bucket = bucket, .max_norm = true};
            return {{.unbiased = true},
                    [rule] { return std::make_unique<LevelCompressor>(rule); },
                    nullptr,
                    {},
                    {2.5, 0.6}};
          }};
}

}  // namespace tacit
