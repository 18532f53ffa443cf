// SPDX-License-Identifier: MIT
// What changes weights by gradients, on flat arrays.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/state.h"
#include "tacit/core/views.h"

namespace tacit {

// What an SGD was asked for.
struct SgdSettings {
  double momentum = 0;
  double weight_decay = 0;
  std::optional<bool> nesterov{};  // nothing: its user has not said
};

// Where its momentum is, beside a compressor.
enum class MomentumPlace {
  kInside,          // the optimiser's, as its user wrote it
  kInsideNesterov,  // the optimiser's, in Nesterov's form: updates are sent both ways, so that it is in front already
  kInFront,  // the compressor's, in Nesterov's form: the optimiser has none
};

using MomentumRule = std::function<MomentumPlace(const SgdSettings& asked)>;

struct NamedView {
  std::string name;
  FloatView values;
};

// What an optimiser remembers of past steps, as algorithms see it that read, average or forget it.
//
// Threads  one at a time.
class OptimizerState {
 public:
  virtual ~OptimizerState() = default;
  // One vector per name, as long as the parameters: `momentum` of an SGD that has one, `first` and `second` of Adam.
  // Before the first step they are empty, which stands for zeros. None where the optimiser keeps none, or is of a kind
  // that nobody knows. The views hold until the next step.
  virtual std::vector<NamedView> state() = 0;
  // Forgets all of it: the next step is a first one.
  virtual void reset() = 0;
};

// Bits     works element by element: one optimiser per slice gives the same bits as one for all.
// Threads  one at a time. One optimiser belongs to one replica, or to one slice of it.
class Optimizer : public OptimizerState {
 public:
  virtual void step(ConstFloatView gradient, float lr, FloatView params) = 0;
  // How far a gradient that stays the same moves weights per step in the long run, in units of lr times that gradient;
  // 1 where that has no meaning.
  virtual double gain() const { return 1; }
  // What it was asked for, where it is SGD; nothing for another kind.
  virtual std::optional<SgdSettings> sgd() const { return std::nullopt; }
  // From now on it is the SGD with these settings. Before the first step, and only where it is one.
  virtual void set_sgd(const SgdSettings&) { throw Bug("only SGD has the settings of SGD"); }
  // A copy with the same settings and no memory of past steps.
  virtual std::unique_ptr<Optimizer> fresh() const = 0;
  // Momentum, moments, the number of steps. load() may come before the first step.
  virtual void save(StateWriter& state) const = 0;
  virtual void load(StateReader& state) = 0;
};

}  // namespace tacit
