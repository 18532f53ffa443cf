// SPDX-License-Identifier: MIT
// QSGD -- D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic, NIPS 2017, arXiv:1610.02132.
//
// Rule    per bucket v of b values and s levels: Q(v)_i = (||v|| / s) (floor(a_i) + [draw < a_i - floor(a_i)]),
//         a_i = s v_i / ||v||; the norm is the 2-norm of the paper or the largest magnitude (its experiments).
// Error   unbiased; E||Q(v) - v||^2 <= min(b/s^2, sqrt(b)/s) ||v||_2^2 with the 2-norm.
// Default levels=7, bucket=512, norm=l2, fixed width. The paper codes with Elias (option elias: the sparse code of its
//         section 3.1, with the number of values in place of an end mark) and uses fixed widths in practice.
// Bytes   per value 1/4 for 1 level, 1/2 for up to 7, 1 for up to 127; 4 per bucket. Elias: fewer where values are few.
// Layout  levels.h.
#include <algorithm>
#include <cmath>

#include "compress/levels.h"
#include "compress/makers.h"

namespace tacit {

CompressorInfo qsgd_info() {
  return {"qsgd", "stochastic rounding to levels of a bucket's norm", "arXiv:1610.02132",
          "qsgd:levels=7,bucket=512", [](OptionReader& options) -> CompressorMaker {
            LevelRule rule{.who = "qsgd"};
            rule.levels =
                static_cast<int>(options.integer("levels", 7, 1, 127, {"levels between 0 and the norm"}));
            rule.bucket = static_cast<std::size_t>(
                options.integer("bucket", 512, 8, 1 << 20, {"values that share one norm"}));
            const std::string norms[] = {"l2", "max"};
            rule.max_norm = options.choice("norm", "l2", norms, {"what levels are shares of"}) == "max";
            rule.elias = options.flag("elias", false, {"Elias codes: fewer bytes, more time"});
            const double s = rule.levels;
            const auto b = static_cast<double>(rule.bucket);
            // With the largest magnitude as norm a level is at most ||v||_2 / s, and a draw's variance 1/4 of its square.
            const double bound = rule.max_norm ? b / (4 * s * s) : std::min(b / (s * s), std::sqrt(b) / s);
            return {{.unbiased = true, .contracts = bound < 1},
                    [rule] { return std::make_unique<LevelCompressor>(rule); },
                    nullptr,
                    {},
                    rule.elias ? Effort{11, 10} : Effort{3.2, 1.3}};
          }};
}

}  // namespace tacit
