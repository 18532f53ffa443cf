// SPDX-License-Identifier: MIT
#include "strategies/local_rule.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"

namespace tacit {
namespace {

// Of an optimiser that is linear in the gradients, the mean over workers of their weights is where the servers are: what
// one of them is off is the noise of its own gradients alone.
class OwnOptimizer final : public LocalRule {
 public:
  OwnOptimizer(Worker& w, double gain) : optimizer_(w.new_optimizer()) {
    const auto sgd = optimizer_->sgd();
    if (!sgd || gain == optimizer_->gain()) return;
    // The momentum is in front of a compressor, and the servers' decay does not pass through it.
    decay_ = static_cast<float>(sgd->weight_decay);
    optimizer_->set_sgd({1 - 1 / gain, 0, true});
  }

  void warm_up(Worker& w) override { step(w); }  // for its momentum
  void step(Worker& w) override {
    if (decay_ != 0) kernels::scale(1 - w.lr() * decay_, w.params());
    optimizer_->step(w.gradient(), w.lr(), w.params());
  }
  void take(ConstFloatView) override {}

  void save(StateWriter& state) const override { optimizer_->save(state); }
  void load(StateReader& state) override { optimizer_->load(state); }

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  float decay_ = 0;  // beside the optimiser's
};

class GluRule final : public LocalRule {
 public:
  GluRule(Worker& w, double gain, const Glu& options) : o_(options), gain_(gain) {
    for (Buffer* each : {&last_pulled_, &move_}) each->assign(w.params());
  }

  void warm_up(Worker& w) override { count(w.lr()); }
  void step(Worker& w) override {
    count(w.lr());
    const double rate = o_.local_lr * w.lr() * (peak_ > 0 ? std::pow(w.lr() / peak_, o_.local_decay) : 1);
    kernels::axpy(static_cast<float>(-rate * o_.alpha * gain_), w.gradient(), w.params());
    if (span_ > 0) kernels::axpy(static_cast<float>(-rate * o_.beta / span_), move_.view(), w.params());
  }
  void take(ConstFloatView pulled) override {
    kernels::difference(last_pulled_.view(), pulled, move_.view());
    last_pulled_.take(pulled);
    span_ = std::exchange(path_, 0.0F);
  }

  void save(StateWriter& state) const override {
    for (const float* each : {&path_, &span_, &peak_}) state.write("glu.rates", std::span(each, 1));
    for (const Buffer* each : {&last_pulled_, &move_}) state.write("glu.weights", each->view());
  }
  void load(StateReader& state) override {
    for (float* each : {&path_, &span_, &peak_}) state.read("glu.rates", std::span(each, 1));
    for (Buffer* each : {&last_pulled_, &move_}) state.read("glu.weights", each->view());
  }

 private:
  void count(float lr) {
    path_ += lr;
    peak_ = std::max(peak_, lr);
  }

  const Glu o_;
  const double gain_;
  float path_ = 0;  // eta summed over the servers' steps since the last pull
  float span_ = 0;  // and between the two pulls of move_; 0: there were not two. G = move_ / span_
  float peak_ = 0;  // the largest eta so far
  Buffer last_pulled_;
  Buffer move_;  // how far the servers came between two pulls, backwards
};

}  // namespace

std::unique_ptr<LocalRule> make_own_optimizer(Worker& w, double gain) {
  return std::make_unique<OwnOptimizer>(w, gain);
}

std::unique_ptr<LocalRule> make_glu(Worker& w, double gain, const Glu& options) {
  return std::make_unique<GluRule>(w, gain, options);
}

}  // namespace tacit
