// SPDX-License-Identifier: MIT
#include "adapters/torch/optimizer_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

namespace tacit::torch {

std::string name_of(const ::torch::optim::Optimizer& optimizer) {
  const std::type_info& type = typeid(optimizer);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace tacit::torch
