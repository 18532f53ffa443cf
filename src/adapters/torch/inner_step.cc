// SPDX-License-Identifier: MIT
#include "adapters/torch/inner_step.h"

#include <torch/optim/sgd.h>

#include <algorithm>
#include <typeinfo>
#include <vector>

#include "adapters/torch/optimizer_name.h"
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

}  // namespace

InnerStep::InnerStep(optim::Optimizer& optimizer, Sends sends, const std::string& compress)
    : optimizer_(optimizer), compress_(compress) {
  // Exactly: what derives from it may step in another way.
  const bool is_sgd = typeid(optimizer) == typeid(optim::SGD);
  if (!is_sgd) refuse_two_momenta(compress, name_of(optimizer), std::nullopt);
  if (dynamic_cast<optim::SGD*>(&optimizer) == nullptr) return;
  const SgdSettings first = read(options_of(optimizer.param_groups().at(0)));
  place_ = momentum_place(sends, compress, first);
  momentum_ = first.momentum;
  compress_ = with_momentum(place_, compress, first);
  for (auto& group : optimizer.param_groups()) {
    const SgdSettings sgd = read(options_of(group));
    if (is_sgd) refuse_two_momenta(compress, name_of(optimizer), sgd);
    const MomentumPlace place = momentum_place(sends, compress, sgd);
    if (place != place_ || with_momentum(place, compress, sgd) != compress_)
      refuse(optimizer, std::max(place, place_),
             "its groups of parameters differ in it; give all of them the same");
    if (place_ == MomentumPlace::kInside) continue;
    if (!is_sgd)
      refuse(optimizer, place_,
             std::string("only torch::optim::SGD itself can be told so; use that, or ") +
                 (place_ == MomentumPlace::kInFront ? "write ef,momentum=0" : "give it nesterov(true)"));
    if (options_of(group).dampening() != 0)
      refuse(optimizer, place_, "this one has a dampening, which is not known there; set it to 0");
  }
}

bool InnerStep::has_momentum() const {
  if (typeid(optimizer_) != typeid(optim::SGD)) return false;
  return left_inside(place_, read(options_of(optimizer_.param_groups().at(0)))).momentum != 0;
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
