// SPDX-License-Identifier: MIT
// Random shares that are the same bits on every machine: of the standard library's distributions only the laws are
// fixed, and its logarithms differ in their last bit. Here are additions, multiplications, divisions and square roots
// alone, which are rounded alike everywhere; this file is compiled without fused ones.
#pragma once

#include <cstddef>
#include <vector>

#include "tacit/core/rng.h"

namespace tacit {

double portable_log(double x);  // of a finite x > 0
double portable_exp(double x);  // of an x <= 0

// The logarithm of a draw from the gamma distribution of this shape (> 0) and of scale 1. Its logarithm, because draws of
// a small shape are smaller than a double can be.
double draw_log_gamma(Rng& rng, double shape);

// Cuts `total` into so many counts, whose shares are drawn from the symmetric Dirichlet distribution of this alpha.
std::vector<std::size_t> draw_counts(Rng& rng, double alpha, int parts, std::size_t total);

}  // namespace tacit
