// SPDX-License-Identifier: MIT
// Vector arithmetic on flat arrays, by the kernels of the space that they lie in; on the host with the best SIMD of the
// CPU at run time.
//
// Bits      every kernel gives the same bits on every CPU: products are rounded before they are added (no
//           fused multiply-add) and reductions use a fixed number of partial sums, whatever the width.
// Sizes     all views of one call have the same length and lie in the same space, which is checked; zero is fine.
// Phantoms  nothing happens to vectors without content; what is computed of one is 0.
// Aliasing  views may be equal; they must not overlap otherwise.
// Threads   any.
#pragma once

#include <span>

#include "tacit/core/views.h"

namespace tacit::kernels {

void fill(float a, FloatView y);                                     // y <- a
void add(ConstFloatView x, FloatView y);                             // y <- y + x
void subtract(ConstFloatView x, FloatView y);                        // y <- y - x
void sum(ConstFloatView a, ConstFloatView b, FloatView out);         // out <- a + b
void difference(ConstFloatView a, ConstFloatView b, FloatView out);  // out <- a - b
void scale(float a, FloatView y);                                    // y <- a y
void multiply(ConstFloatView x, FloatView y);                        // y <- x y, element by element
void axpy(float a, ConstFloatView x, FloatView y);                   // y <- y + a x
void axpby(float a, ConstFloatView x, float b, FloatView y);         // y <- a x + b y
void average(ConstFloatView x, FloatView y);                         // y <- (x + y) / 2

// out <- factor (all[0] + all[1] + ...), added in this order. One of them may be out.
void sum_all(std::span<const ConstFloatView> all, float factor, FloatView out);

// to <- from, past the caches: for bytes that another core reads next, or that would push out what this one needs.
void stream_copy(ConstBytes from, Bytes to);

double dot(ConstFloatView x, ConstFloatView y);
double sum_of(ConstFloatView x);
double norm2(ConstFloatView x);                        // Euclidean
double norm1(ConstFloatView x);                        // sum of magnitudes
double distance2(ConstFloatView x, ConstFloatView y);  // norm2 of x - y
float max_abs(ConstFloatView x);                       // NaN where x has one
bool all_finite(ConstFloatView x);

// SGD as LibTorch defines it (dampening 0), in one pass:
//   d <- g + weight_decay x;  v <- momentum v + d;  x <- x - lr (nesterov ? d + momentum v : v)
// With momentum 0, v is empty and x <- x - lr d.
struct SgdStep {
  float lr = 0;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};
void sgd_step(const SgdStep& s, ConstFloatView gradient, FloatView velocity, FloatView params);

// Adam and AdamW as LibTorch defines them, in one pass. The bias corrections come ready made, because they
// depend on the step alone:
//   g <- g + weight_decay x;  x <- decay x;  m <- beta1 m + (1-beta1) g;  v <- beta2 v + (1-beta2) g^2
//   x <- x - step_size m / (sqrt(v) / root_correction + epsilon)
struct AdamStep {
  float step_size = 0;        // lr / (1 - beta1^t)
  float root_correction = 1;  // sqrt(1 - beta2^t)
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0;  // Adam: added to the gradient
  float decay = 1;         // AdamW: 1 - lr weight_decay
};
void adam_step(const AdamStep& s, ConstFloatView gradient, FloatView first, FloatView second,
               FloatView params);

}  // namespace tacit::kernels
