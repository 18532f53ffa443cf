// SPDX-License-Identifier: MIT
#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tacit/core/buffer.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/core/text.h"

namespace tacit {
namespace {

constexpr double kBelowOne = 0.999999;  // a decay rate of 1 would never forget, and divide by zero in Adam
constexpr double kMaxDecay = 10;

// One number per parameter that outlives a step; zero at first. The first use decides the size.
class State {
 public:
  FloatView of(ConstFloatView params) {
    if (!sized_) values_ = Buffer(params);
    sized_ = true;
    const std::size_t n = values_.view().size();
    TACIT_CHECK(n == params.size(),
                "an optimiser of " + std::to_string(n) + " parameters got " + std::to_string(params.size()));
    if (!values_.view().beside(params)) {  // loaded before anybody knew where they belong
      Buffer moved(params);
      moved.take(values_.view());
      swap(values_, moved);
    }
    return values_.view();
  }

  FloatView values() { return values_.view(); }  // empty before the first use
  void forget() { kernels::fill(0, values_.view()); }
  void save(std::string_view name, StateWriter& state) const { state.write(name, values_.view()); }
  void load(std::string_view name, StateReader& state) {
    values_.assign(state.floats(name));
    sized_ = !values_.view().empty();
  }

 private:
  Buffer values_;
  bool sized_ = false;
};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SgdSettings& settings) { set_sgd(settings); }

  void step(ConstFloatView gradient, float lr, FloatView params) override {
    rule_.lr = lr;
    const FloatView velocity = rule_.momentum == 0 ? FloatView{} : velocity_.of(params);
    kernels::sgd_step(rule_, gradient, velocity, params);
  }
  double gain() const override { return 1 / (1 - static_cast<double>(rule_.momentum)); }
  std::unique_ptr<Optimizer> fresh() const override { return std::make_unique<Sgd>(settings_); }
  std::optional<SgdSettings> sgd() const override { return settings_; }
  void set_sgd(const SgdSettings& settings) final {
    settings_ = settings;
    rule_ = {.momentum = static_cast<float>(settings.momentum),
             .weight_decay = static_cast<float>(settings.weight_decay),
             .nesterov = settings.nesterov.value_or(false)};
  }
  std::vector<NamedView> state() override {
    if (rule_.momentum == 0) return {};
    return {{"momentum", velocity_.values()}};
  }
  void reset() override { velocity_.forget(); }
  void save(StateWriter& state) const override { velocity_.save("sgd.velocity", state); }
  void load(StateReader& state) override { velocity_.load("sgd.velocity", state); }

 private:
  SgdSettings settings_;
  kernels::SgdStep rule_;  // the same, as the kernel wants it
  State velocity_;
};

// Adam and AdamW differ only in what the weight decay acts on.
enum class Decay { kGradient, kWeights };

class Adam final : public Optimizer {
 public:
  Adam(const kernels::AdamStep& rule, double weight_decay, Decay decay)
      : rule_(rule), weight_decay_(weight_decay), decay_(decay) {}

  void step(ConstFloatView gradient, float lr, FloatView params) override {
    const FloatView first = first_.of(params);
    const FloatView second = second_.of(params);
    correct(lr);
    kernels::adam_step(rule_, gradient, first, second, params);
  }
  std::unique_ptr<Optimizer> fresh() const override {
    return std::make_unique<Adam>(rule_, weight_decay_, decay_);
  }
  std::vector<NamedView> state() override {
    return {{"first", first_.values()}, {"second", second_.values()}};
  }
  void reset() override {
    steps_ = 0;
    first_.forget();
    second_.forget();
  }
  void save(StateWriter& state) const override {
    state.write("adam.steps", static_cast<std::uint64_t>(steps_));
    first_.save("adam.first", state);
    second_.save("adam.second", state);
  }
  void load(StateReader& state) override {
    steps_ = static_cast<std::int64_t>(state.number("adam.steps"));
    first_.load("adam.first", state);
    second_.load("adam.second", state);
  }

 private:
  // The corrections use the betas as the kernel sees them, in float, so that they cancel its bias exactly.
  void correct(float lr) {
    const auto t = static_cast<double>(++steps_);
    rule_.step_size = static_cast<float>(lr / (1 - std::pow(static_cast<double>(rule_.beta1), t)));
    rule_.root_correction = static_cast<float>(std::sqrt(1 - std::pow(static_cast<double>(rule_.beta2), t)));
    if (decay_ == Decay::kGradient) rule_.weight_decay = static_cast<float>(weight_decay_);
    if (decay_ == Decay::kWeights) rule_.decay = static_cast<float>(1 - lr * weight_decay_);
  }

  kernels::AdamStep rule_;
  double weight_decay_;
  Decay decay_;
  std::int64_t steps_ = 0;
  State first_;
  State second_;
};

std::unique_ptr<Optimizer> make_sgd(OptionReader& options) {
  SgdSettings sgd;
  sgd.momentum = options.number("momentum", 0, 0, kBelowOne, {"share of the last step that is kept"});
  const bool nesterov = options.flag("nesterov", false, {"Nesterov's momentum; needs a momentum"});
  if (options.given("nesterov")) sgd.nesterov = nesterov;
  sgd.weight_decay =
      options.number("weight_decay", 0, 0, kMaxDecay, {"times the weights, added to the gradient"});
  if (nesterov && sgd.momentum == 0)
    throw InvalidConfig("sgd: nesterov needs a momentum; write sgd:momentum=0.9,nesterov");
  return std::make_unique<Sgd>(sgd);
}

std::unique_ptr<Optimizer> make_adam(OptionReader& options, double weight_decay, Decay decay) {
  kernels::AdamStep rule;
  rule.beta1 =
      static_cast<float>(options.number("beta1", 0.9, 0, kBelowOne, {"memory of the gradients' mean"}));
  rule.beta2 =
      static_cast<float>(options.number("beta2", 0.999, 0, kBelowOne, {"memory of their squares' mean"}));
  rule.epsilon = static_cast<float>(
      options.number("epsilon", 1e-8, 1e-30, 1, {"added to the root of the squares' mean"}));
  const char* meaning = decay == Decay::kGradient
                            ? "times the weights, added to the gradient"
                            : "times the weights and the learning rate, taken off the weights";
  return std::make_unique<Adam>(rule, options.number("weight_decay", weight_decay, 0, kMaxDecay, {meaning}),
                                decay);
}

}  // namespace

const Registry<OptimizerInfo>& builtin_optimizers() {
  static const Registry<OptimizerInfo> all(
      "optimizer",
      {
          {"sgd", "gradient descent", "Robbins, Monro 1951; Nesterov 1983", "sgd:momentum=0.9,nesterov",
           make_sgd},
          {"adam", "Adam, with weight decay in the gradient", "arXiv:1412.6980", "adam:beta1=0.9",
           [](OptionReader& options) { return make_adam(options, 0, Decay::kGradient); }},
          {"adamw", "Adam, with weight decay on the weights", "arXiv:1711.05101", "adamw:weight_decay=0.01",
           [](OptionReader& options) { return make_adam(options, 0.01, Decay::kWeights); }},
      });
  return all;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view spec) {
  return builtin_optimizers().make(spec,
                                   [](const OptimizerInfo& info, OptionReader& o) { return info.make(o); });
}

}  // namespace tacit
