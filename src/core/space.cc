// SPDX-License-Identifier: MIT
#include "tacit/core/space.h"

#include <memory>

#include "core/host_kernels.h"

namespace tacit {
namespace {

class HostSpace final : public Space {
 public:
  std::string_view name() const override { return "host"; }
  Block allocate(std::size_t floats) override {
    if (floats == 0) return {};
    return block(std::span(std::make_unique<float[]>(floats).release(), floats));
  }
  const Kernels& kernels() const override { return host_kernels(); }
  void copy(ConstFloatView from, FloatView to) override { tacit::copy<float>(from.host(), to.host()); }
  void wait() override {}
  Bytes wire(FloatView x) override { return std::as_writable_bytes(x.host()); }

 private:
  void release(FloatView x) noexcept override { const std::unique_ptr<float[]> own(address(x)); }
};

}  // namespace

Space& host_space() {
  static HostSpace space;
  return space;
}

Block::~Block() {
  if (!view_.empty()) view_.space().release(view_);
}

}  // namespace tacit
