// SPDX-License-Identifier: MIT
// Adaptive braking -- A. Venigalla, A. Kosson, V. Chiley, U. Koster, "Adaptive Braking for Mitigating Gradient Delay",
// ICML 2020 workshop, arXiv:2007.01397.
//
// Idea        gradients that point where the momentum goes already are shrunk, those against it grow: what comes late
//             then sways weights less.
// Symbols     g = what is applied   v = the optimiser's momentum before it   rho = rho_   eps = kEpsilon
//               c = <g, v> / max(|g| |v|, eps)      v <- mu v + (1 - rho c) g      w <- w - eta v
// Cost        no bytes, one vector, and two passes over g and v.
// Reduces to  the strategy itself for rho = 0, and while there is no momentum yet (tests/strategies/braking_test.cc).
// Differs     c is taken tensor by tensor, not filter by filter, and on servers over a whole shard.
//
// It is an option and no strategy: a Worker around the worker brakes what the strategy lets its optimiser apply, here
// or on a server, whatever the strategy does otherwise. So it is here beside the registry that reads the option, and
// not in src/strategies.
#include "strategy/braking.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/core/text.h"
#include "tacit/strategy/push_codec.h"

namespace tacit {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::min();  // against 0/0 alone
constexpr const char* kMomentum = "momentum";

// g <- (1 - rho c) g
void brake(double rho, ConstFloatView v, FloatView g) {
  const double c = kernels::dot(g, v) / std::max(kernels::norm2(g) * kernels::norm2(v), kEpsilon);
  kernels::scale(static_cast<float>(1 - rho * c), g);
}

// Nothing where there is no momentum; an empty view where it is still zero.
std::optional<FloatView> momentum_of(OptimizerState& optimizer) {
  for (const NamedView& each : optimizer.state())
    if (each.name == kMomentum) return each.values;
  return std::nullopt;
}

// An optimiser of a server's shard.
class BrakedOptimizer final : public Optimizer {
 public:
  BrakedOptimizer(std::unique_ptr<Optimizer> inner, double rho) : inner_(std::move(inner)), rho_(rho) {}

  void step(ConstFloatView gradient, float lr, FloatView params) override {
    const FloatView v = momentum_of(*inner_).value_or(FloatView());
    if (v.empty()) return inner_->step(gradient, lr, params);
    if (!braked_) braked_.emplace(params);
    braked_->take(gradient);
    brake(rho_, v, braked_->view());
    inner_->step(braked_->view(), lr, params);
  }
  double gain() const override { return inner_->gain(); }
  std::optional<SgdSettings> sgd() const override { return inner_->sgd(); }
  void set_sgd(const SgdSettings& settings) override { inner_->set_sgd(settings); }
  std::unique_ptr<Optimizer> fresh() const override {
    return std::make_unique<BrakedOptimizer>(inner_->fresh(), rho_);
  }
  std::vector<NamedView> state() override { return inner_->state(); }
  void reset() override { inner_->reset(); }
  void save(StateWriter& state) const override { inner_->save(state); }
  void load(StateReader& state) override { inner_->load(state); }

 private:
  const std::unique_ptr<Optimizer> inner_;
  const double rho_;
  std::optional<Buffer> braked_;
};

// The worker as it is, but for what its optimiser gets.
class BrakedWorker final : public Worker {
 public:
  BrakedWorker(Worker& worker, double rho) : w_(worker), rho_(rho), braked_(worker.params()) {}

  bool around(const Worker& worker) const { return &w_ == &worker; }

  int rank() const override { return w_.rank(); }
  int size() const override { return w_.size(); }
  std::int64_t t() const override { return w_.t(); }
  std::int64_t total() const override { return w_.total(); }
  float lr(std::int64_t t) const override { return w_.lr(t); }
  FloatView params() override { return w_.params(); }
  FloatView gradient() override { return w_.gradient(); }
  double loss() const override { return w_.loss(); }
  void apply(ConstFloatView g, FloatView x) override {
    const FloatView v = momentum_of(w_.optimizer()).value_or(FloatView());
    if (v.empty()) return w_.apply(g, x);
    braked_.take(g);
    for (const Slice& tensor : w_.tensors()) brake(rho_, part(v, tensor), part(braked_.view(), tensor));
    w_.apply(braked_.view(), x);
  }
  OptimizerState& optimizer() override { return w_.optimizer(); }
  std::unique_ptr<Optimizer> new_optimizer() const override {
    return std::make_unique<BrakedOptimizer>(w_.new_optimizer(), rho_);
  }
  void gradient_at(ConstFloatView x) override { w_.gradient_at(x); }
  void gradient_of(std::int64_t piece) override { w_.gradient_of(piece); }
  std::span<const Slice> tensors() const override { return w_.tensors(); }
  std::span<const std::size_t> rows() const override { return w_.rows(); }
  std::span<const Slice> buckets() const override { return w_.buckets(); }
  std::unique_ptr<Mean> make_mean(const MeanOptions& options) override { return w_.make_mean(options); }
  std::vector<std::unique_ptr<PushCodec>> make_push_codecs(int servers) override {
    return w_.make_push_codecs(servers);
  }
  Comm& comm() override { return w_.comm(); }
  Tasks& tasks() override { return w_.tasks(); }
  Rng rng(Rng::Use use) const override { return w_.rng(use); }

 private:
  Worker& w_;
  const double rho_;
  Buffer braked_;  // (1 - rho c) g
};

class Braked final : public Strategy {
 public:
  Braked(std::unique_ptr<Strategy> inner, double rho) : rho_(rho), inner_(std::move(inner)) {}

  std::string why_not(const Compression& how) const override { return inner_->why_not(how); }
  int pieces(int ranks) const override { return inner_->pieces(ranks); }
  void start(Worker& w) override {
    inner_->start(braked(w));  // which may put the momentum in front of a compressor
    if (!momentum_of(w.optimizer()))
      throw InvalidConfig(
          "braking=" + exact(rho_) +
          " compares gradients with the momentum of SGD, and this optimiser keeps none; give it one, "
          "such as sgd:momentum=0.9, with a compressor that has ef also ef,momentum=0, or leave "
          "braking out");
  }
  void ready(Worker& w, Slice part) override { inner_->ready(braked(w), part); }
  void step(Worker& w) override { inner_->step(braked(w)); }
  void settle(Worker& w) override { inner_->settle(braked(w)); }
  void model(Worker& w, FloatView out) override { inner_->model(braked(w), out); }
  void finish(Worker& w) override { inner_->finish(braked(w)); }
  // Braking itself remembers nothing: all that it looks at is the optimiser's.
  void save(Worker& w, StateWriter& state) override { inner_->save(braked(w), state); }
  void load(Worker& w, StateReader& state) override { inner_->load(braked(w), state); }
  void lend(Worker& w, StateWriter& state) override { inner_->lend(braked(w), state); }
  void rejoin(Worker& w, StateReader& state) override { inner_->rejoin(braked(w), state); }

 private:
  Worker& braked(Worker& w) {
    if (!worker_ || !worker_->around(w)) worker_.emplace(w, rho_);
    return *worker_;
  }

  const double rho_;
  std::optional<BrakedWorker> worker_;
  const std::unique_ptr<Strategy> inner_;  // last: it ends before the worker that it was started with
};

}  // namespace

double read_braking(OptionReader& options) {
  return options.number(
      "braking", 0, 0, 100,
      {"rho of adaptive braking: gradients along the momentum shrink; 2 for late ones, 0: none"});
}

std::unique_ptr<Strategy> with_braking(std::unique_ptr<Strategy> strategy, double rho) {
  return std::make_unique<Braked>(std::move(strategy), rho);
}

}  // namespace tacit
