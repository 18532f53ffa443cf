// SPDX-License-Identifier: MIT
#include "adapters/torch/flat_state.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "adapters/torch/optimizer_name.h"
#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

namespace optim = ::torch::optim;
using ::torch::Tensor;

// A tensor of a parameter's state that the optimiser changes in place.
struct Moment {
  std::string name;
  std::function<Tensor(const optim::OptimizerParamState&)> get;
  std::function<void(optim::OptimizerParamState&, const Tensor&)> set;
};

template <class State>
std::vector<Moment> moments_of_adam() {
  return {{"first", [](const auto& s) { return static_cast<const State&>(s).exp_avg(); },
           [](auto& s, const Tensor& t) { static_cast<State&>(s).exp_avg(t); }},
          {"second", [](const auto& s) { return static_cast<const State&>(s).exp_avg_sq(); },
           [](auto& s, const Tensor& t) { static_cast<State&>(s).exp_avg_sq(t); }}};
}

std::vector<Moment> moments_of(const optim::Optimizer& optimizer, bool has_momentum) {
  const std::type_info& type = typeid(optimizer);  // exactly: what derives from them may keep something else
  using Sgd = optim::SGDParamState;
  if (type == typeid(optim::SGD) && has_momentum)
    return {{"momentum", [](const auto& s) { return static_cast<const Sgd&>(s).momentum_buffer(); },
             [](auto& s, const Tensor& t) { static_cast<Sgd&>(s).momentum_buffer(t); }}};
  if (type == typeid(optim::Adam)) return moments_of_adam<optim::AdamParamState>();
  if (type == typeid(optim::AdamW)) return moments_of_adam<optim::AdamWParamState>();
  return {};
}

// By what a LibTorch optimiser finds the state of a parameter: its address, which 1.13 writes as text.
template <class Key>
Key state_key(const Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

}  // namespace

std::vector<NamedView> FlatState::state() {
  const ::torch::NoGradGuard no_grad;
  const std::vector<Moment> moments = moments_of(optimizer_, inner_.has_momentum());
  std::vector<NamedView> views;
  if (vectors_.size() != moments.size()) vectors_.assign(moments.size(), Tensor());
  auto& states = optimizer_.state();
  using Key = std::decay_t<decltype(states)>::key_type;
  for (std::size_t m = 0; m < moments.size(); ++m) {
    Tensor& flat = vectors_[m];
    for (std::size_t i = 0; i < flat_.tensors().size(); ++i) {
      const auto found = states.find(state_key<Key>(flat_.parameter(i)));
      if (found == states.end()) continue;  // not stepped yet, or not one of this optimiser's
      const Tensor now = moments[m].get(*found->second);
      if (!now.defined()) continue;
      if (!flat.defined()) flat = FlatModule::zeros(flat_.params().size());
      const Slice where = flat_.tensors()[i];
      if (now.data_ptr() == flat.data_ptr<float>() + where.offset) continue;
      Tensor there = FlatModule::piece(flat, where, now.sizes());
      there.copy_(now);
      moments[m].set(*found->second, there);
    }
    views.push_back(
        {moments[m].name,
         flat.defined() ? FloatView(std::span(flat.data_ptr<float>(), flat_.params().size())) : FloatView()});
  }
  return views;
}

void FlatState::reset() {
  if (dynamic_cast<const optim::Adagrad*>(&optimizer_) != nullptr)
    throw InvalidConfig("the strategy lets the optimiser forget, and " + name_of(optimizer_) +
                        " makes what it remembers only once; use torch::optim::SGD, Adam or AdamW");
  optimizer_.state().clear();
  vectors_.clear();
}

}  // namespace tacit::torch
