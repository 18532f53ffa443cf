// SPDX-License-Identifier: MIT
// PowerSGD -- T. Vogels, S. P. Karimireddy, M. Jaggi, NeurIPS 2019, arXiv:1905.13727.
//
// Rule    a tensor is a matrix A (n x m), first dimension by the rest; Q (m x r) is kept from the step before:
//         P = mean(A Q);  P <- orthonormal(P);  Q = mean(A^T P);  all ranks know P Q^T.
// Error   ||A - P Q^T|| <= ||A||: an orthogonal projection where all ranks have the same A. Biased: use ef.
// Default rank=2, warm start on (warm=false draws a new Q at every step). A tensor whose first dimension nobody knows,
//         or which is one row or one column, is cut into nearly as many rows as columns.
// Floats  r n in the first round and r m in the second.
// Layout  f32, column after column; summed on the wire.
#include <cmath>
#include <vector>

#include "compress/makers.h"
#include "core/pack_kernels.h"
#include "tacit/core/kernels.h"

namespace tacit {
namespace {

// Rows and columns of a matrix; its last row may be shorter.
struct Shape {
  explicit Shape(Matrix m) : count(m.count), rows(m.rows) {
    if (rows < 2 || count % rows != 0 || count / rows < 2)
      rows = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
    cols = rows == 0 ? 0 : (count + rows - 1) / rows;
  }
  Slice row(std::size_t i) const { return {i * cols, std::min(cols, count - i * cols)}; }
  std::size_t count;
  std::size_t rows;
  std::size_t cols = 0;
};

class PowerSgd final : public LinearSketch {
 public:
  PowerSgd(std::size_t rank, bool warm, Matrix m)
      : shape_(m),
        rank_(std::min({rank, shape_.rows, shape_.cols})),
        warm_(warm),
        p_(rank_ * shape_.rows),
        q_(rank_ * shape_.cols) {}

  int rounds() const override { return 2; }
  std::size_t floats(int round) const override { return round == 0 ? p_.size() : q_.size(); }

  void begin(Rng shared) override {
    if (warm_ && begun_) return;
    for (float& v : q_) v = shared.normal();
    begun_ = true;
  }

  void sketch(int round, ConstFloatView x, FloatView out) override {
    round == 0 ? times_q(x, out) : times_p(x, out);
  }

  void learn(int round, ConstFloatView mean) override {
    copy(mean, round == 0 ? FloatView(p_) : FloatView(q_));
    if (round == 0) orthonormalise();
  }

  void decode_add(float factor, FloatView y) const override {
    for (std::size_t i = 0; i < shape_.rows; ++i) {
      const Slice row = shape_.row(i);
      for (std::size_t k = 0; k < rank_; ++k)
        kernels::axpy(factor * p_[k * shape_.rows + i], q(k).first(row.count), part(y, row));
    }
  }
  void settle(FloatView x) const override { decode_add(-1, x); }

  void save(StateWriter& state) const override {
    state.write("powersgd.begun", begun_ ? 1U : 0U);
    state.write("powersgd.q", ConstFloatView(q_));
  }
  void load(StateReader& state) override {
    begun_ = state.number("powersgd.begun") != 0;
    state.read("powersgd.q", FloatView(q_));
  }

 private:
  ConstFloatView q(std::size_t k) const { return ConstFloatView(q_).subspan(k * shape_.cols, shape_.cols); }
  FloatView p(std::size_t k) { return FloatView(p_).subspan(k * shape_.rows, shape_.rows); }

  void times_q(ConstFloatView x, FloatView out) const {
    if (shape_.rows == 0) return;
    const std::size_t whole = shape_.rows - 1;
    const Slice last = shape_.row(whole);
    for (std::size_t k = 0; k < rank_; ++k) {
      const FloatView column = out.subspan(k * shape_.rows, shape_.rows);
      kernels::rows_times(x.first(last.offset), q(k), column.first(whole));
      kernels::rows_times(part(x, last), q(k).first(last.count), column.last(1));
    }
  }

  void times_p(ConstFloatView x, FloatView out) const {
    kernels::fill(0, out);
    for (std::size_t i = 0; i < shape_.rows; ++i) {
      const Slice row = shape_.row(i);
      for (std::size_t k = 0; k < rank_; ++k)
        kernels::axpy(p_[k * shape_.rows + i], part(x, row), out.subspan(k * shape_.cols, row.count));
    }
  }

  // Gram-Schmidt, one column after the other and each twice against those before it, because once is not enough for
  // columns that are nearly parallel. A column with nothing new in it becomes zero.
  void orthonormalise() {
    for (std::size_t k = 0; k < rank_; ++k) {
      const double before = kernels::norm2(p(k));
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t j = 0; j < k; ++j)
          kernels::axpy(-static_cast<float>(kernels::dot(p(j), p(k))), p(j), p(k));
      const double after = kernels::norm2(p(k));
      const bool new_direction = after > 1e-6 * before && after > 1e-30;
      kernels::scale(new_direction ? static_cast<float>(1 / after) : 0.0F, p(k));
    }
  }

  const Shape shape_;
  const std::size_t rank_;
  const bool warm_;
  std::vector<float> p_;  // column after column
  std::vector<float> q_;  // column after column
  bool begun_ = false;    // whether q_ is a step's
};

}  // namespace

CompressorInfo powersgd_info() {
  return {"powersgd", "a low-rank approximation by one power iteration; sums travel", "arXiv:1905.13727",
          "powersgd:rank=2,ef", [](OptionReader& options) -> CompressorMaker {
            const auto rank =
                static_cast<std::size_t>(options.integer("rank", 2, 1, 1024, {"rank of the approximation"}));
            const bool warm = options.flag("warm", true, {"begin with the last step's result"});
            return {{.contracts = true},
                    nullptr,
                    [=](Matrix m) { return std::make_unique<PowerSgd>(rank, warm, m); },
                    {},
                    {1.8, 0.6}};
          }};
}

}  // namespace tacit
