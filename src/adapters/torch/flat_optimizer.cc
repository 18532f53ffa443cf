// SPDX-License-Identifier: MIT
#include "adapters/torch/flat_optimizer.h"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <string>
#include <typeinfo>

#include "adapters/torch/optimizer_name.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit::torch {
namespace {

namespace optim = ::torch::optim;

[[noreturn]] void refuse(const optim::Optimizer& o, const std::string& why) {
  throw InvalidConfig("the strategy updates weights on server shards, and " + name_of(o) + " " + why);
}

std::string spec_of(const optim::Optimizer& o, const optim::SGDOptions& s) {
  if (s.dampening() != 0) refuse(o, "has a dampening, which the shards do not know; set it to 0");
  return "sgd:momentum=" + exact(s.momentum()) + ",weight_decay=" + exact(s.weight_decay()) +
         ",nesterov=" + (s.nesterov() ? "true" : "false");
}

template <class Options>
std::string spec_of(const optim::Optimizer& o, const char* name, const Options& s) {
  if (s.amsgrad()) refuse(o, "has amsgrad, which the shards do not know; leave it out");
  return std::string(name) + ":beta1=" + exact(std::get<0>(s.betas())) +
         ",beta2=" + exact(std::get<1>(s.betas())) + ",epsilon=" + exact(s.eps()) +
         ",weight_decay=" + exact(s.weight_decay());
}

std::string spec_of(const optim::Optimizer& o, const optim::OptimizerOptions& group) {
  const std::type_info& type = typeid(o);  // exactly: what derives from them may step in another way
  if (type == typeid(optim::SGD)) return spec_of(o, static_cast<const optim::SGDOptions&>(group));
  if (type == typeid(optim::AdamW))
    return spec_of(o, "adamw", static_cast<const optim::AdamWOptions&>(group));
  if (type == typeid(optim::Adam)) return spec_of(o, "adam", static_cast<const optim::AdamOptions&>(group));
  refuse(o, "cannot run there; use torch::optim::SGD, Adam or AdamW, or another strategy");
}

}  // namespace

std::unique_ptr<Optimizer> flat_optimizer(const optim::Optimizer& like) {
  const auto& groups = like.param_groups();
  const std::string spec = spec_of(like, groups.at(0).options());
  for (const optim::OptimizerParamGroup& group : groups)
    if (spec_of(like, group.options()) != spec || group.options().get_lr() != groups[0].options().get_lr())
      refuse(like, "has groups of parameters with different settings; give all of them the same");
  return make_optimizer(spec);
}

}  // namespace tacit::torch
