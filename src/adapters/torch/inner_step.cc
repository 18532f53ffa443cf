// SPDX-License-Identifier: MIT
#include "adapters/torch/inner_step.h"

#include <torch/optim/sgd.h>

#include <algorithm>
#include <typeinfo>
#include <vector>

#include "adapters/torch/flat_optimizer.h"
#include "adapters/torch/optimizer_name.h"
#include "means/momentum_place.h"
#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

namespace optim = ::torch::optim;

optim::SGDOptions& options_of(optim::OptimizerParamGroup& group) {
  return static_cast<optim::SGDOptions&>(group.options());
}

SgdSettings read(const optim::SGDOptions& o) {
  SgdSettings sgd{o.momentum(), o.weight_decay()};
  if (o.nesterov()) sgd.nesterov = true;
  return sgd;
}

void write(const SgdSettings& sgd, optim::SGDOptions& o) {
  o.momentum(sgd.momentum).weight_decay(sgd.weight_decay).nesterov(sgd.nesterov.value_or(false));
}

[[noreturn]] void refuse(const optim::Optimizer& o, MomentumPlace place, const std::string& why) {
  const char* const where = place == MomentumPlace::kInFront ? "belongs in front of the compressor (ef)"
                                                             : "is sent and takes Nesterov's form";
  throw InvalidConfig("the momentum of " + name_of(o) + " " + where + ", and " + why);
}

// Gives every group what is left to it, until the end of the block.
class LeftInside {
 public:
  LeftInside(MomentumPlace place, std::vector<optim::OptimizerParamGroup>& groups) : groups_(groups) {
    for (auto& group : groups_) {
      users_.push_back(read(options_of(group)));
      write(left_inside(place, users_.back()), options_of(group));
    }
  }
  ~LeftInside() {
    for (std::size_t i = 0; i < users_.size(); ++i) write(users_[i], options_of(groups_[i]));
  }
  LeftInside(const LeftInside&) = delete;
  LeftInside& operator=(const LeftInside&) = delete;

 private:
  std::vector<optim::OptimizerParamGroup>& groups_;
  std::vector<SgdSettings> users_;
};

// Exactly: what derives from it may step in another way.
bool is_sgd(const optim::Optimizer& o) { return typeid(o) == typeid(optim::SGD); }

}  // namespace

InnerStep::InnerStep(optim::Optimizer& optimizer, const std::string& compress) : optimizer_(optimizer) {
  if (!is_sgd(optimizer)) {
    refuse_two_momenta(compress, name_of(optimizer), std::nullopt);
    return;
  }
  for (auto& group : optimizer.param_groups())
    refuse_two_momenta(compress, name_of(optimizer), read(options_of(group)));
}

double InnerStep::place(const MomentumRule& rule) {
  if (dynamic_cast<optim::SGD*>(&optimizer_) == nullptr) return 0;
  const SgdSettings first = read(options_of(optimizer_.param_groups().at(0)));
  place_ = rule(first);
  momentum_ = first.momentum;
  for (auto& group : optimizer_.param_groups()) {
    const SgdSettings sgd = read(options_of(group));
    const MomentumPlace place = rule(sgd);
    if (place != place_ || (place == MomentumPlace::kInFront && sgd.momentum != momentum_))
      refuse(optimizer_, std::max(place, place_),
             "its groups of parameters differ in it; give all of them the same");
    if (place_ == MomentumPlace::kInside) continue;
    if (!is_sgd(optimizer_))
      refuse(optimizer_, place_,
             std::string("only torch::optim::SGD itself can be told so; use that, or ") +
                 (place_ == MomentumPlace::kInFront ? "write ef,momentum=0" : "give it nesterov(true)"));
    if (options_of(group).dampening() != 0)
      refuse(optimizer_, place_, "this one has a dampening, which is not known there; set it to 0");
  }
  return place_ == MomentumPlace::kInFront ? momentum_ : 0;
}

std::unique_ptr<Optimizer> InnerStep::flat() const {
  if (place_ == MomentumPlace::kInside) return flat_optimizer(optimizer_);
  const LeftInside settings(place_, optimizer_.param_groups());
  return flat_optimizer(optimizer_);
}

bool InnerStep::has_momentum() const {
  if (!is_sgd(optimizer_)) return false;
  auto& groups = optimizer_.param_groups();
  return std::any_of(groups.begin(), groups.end(),
                     [&](auto& group) { return left_inside(place_, read(options_of(group))).momentum != 0; });
}

void InnerStep::operator()() {
  if (place_ == MomentumPlace::kInside) {
    optimizer_.step();
    return;
  }
  for (auto& group : optimizer_.param_groups())
    if (place_ == MomentumPlace::kInFront && options_of(group).momentum() != momentum_)
      refuse(optimizer_, place_,
             "is " + std::to_string(momentum_) + " there since the start; leave it at that, it was set to " +
                 std::to_string(options_of(group).momentum()));
  const LeftInside settings(place_, optimizer_.param_groups());
  optimizer_.step();
}

}  // namespace tacit::torch
