// SPDX-License-Identifier: MIT
#include "tacit/core/views.h"

#include <string>

#include "tacit/core/error.h"
#include "tacit/core/space.h"

namespace tacit {

static_assert(sizeof(FloatView) == 2 * sizeof(void*) && std::is_trivially_copyable_v<FloatView>,
              "kernel calls pass views in registers");

namespace {

struct WireAccess : FloatAccess {
  static ConstFloatView phantom(const float* at, std::size_t n) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): what is viewed is const again
    return view(phantom_space(), {const_cast<float*>(at), n});
  }
  static FloatView writable(ConstFloatView x) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): Space::wire is one function for both
    return view(x.space(), {const_cast<float*>(address(x)), x.size()});
  }
};

bool on_host(ConstFloatView x) { return x.beside(ConstFloatView()); }

}  // namespace

template <class Float>
void BasicFloatView<Float>::refuse_host() const {
  throw Bug("the host cannot look into a vector of the space '" + std::string(space().name()) +
            "'; leave it to kernels, or copy() it first");
}
template class BasicFloatView<float>;
template class BasicFloatView<const float>;

Bytes bytes_of(FloatView x) { return on_host(x) ? std::as_writable_bytes(x.host()) : x.space().wire(x); }

ConstBytes bytes_of(ConstFloatView x) {
  return on_host(x) ? std::as_bytes(x.host()) : ConstBytes(x.space().wire(WireAccess::writable(x)));
}

ConstFloatView floats_in(ConstBytes b) {
  const auto* const at = reinterpret_cast<const float*>(b.data());
  const std::size_t n = b.size() / sizeof(float);
  return has_content(b) ? ConstFloatView(std::span(at, n)) : WireAccess::phantom(at, n);
}

void copy(ConstFloatView from, FloatView to) {
  TACIT_CHECK(from.size() == to.size(),
              "a copy of " + std::to_string(from.size()) + " floats to " + std::to_string(to.size()));
  if (on_host(from) && on_host(to)) return copy<float>(from.host(), to.host());
  (on_host(to) ? from : ConstFloatView(to)).space().copy(from, to);
}

}  // namespace tacit
