// SPDX-License-Identifier: MIT
#include "tacit/core/space.h"

#include <array>
#include <atomic>
#include <memory>
#include <new>

#include "core/host_kernels.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

std::array<std::atomic<Space*>, 256> numbered{};  // but for 0, the host's

std::uint64_t register_space(Space& space) {
  for (std::size_t i = 1; i < numbered.size(); ++i)
    if (Space* nobody = nullptr; numbered.at(i).compare_exchange_strong(nobody, &space)) return i;
  throw Bug("there are " + std::to_string(numbered.size()) + " spaces, and views can name no more");
}

class HostSpace final : public Space {
 public:
  HostSpace() : Space(0) {}
  std::string_view name() const override { return "host"; }
  Block allocate(std::size_t floats) override {
    if (floats == 0) return {};
    if (floats > FloatView::kMostFloats) throw std::bad_array_new_length();
    auto* const at = static_cast<float*>(::operator new(floats * sizeof(float), kLine));
    std::uninitialized_fill_n(at, floats, 0.0F);
    return block(std::span(at, floats));
  }
  const Kernels& kernels() const override { return kHostKernels; }
  void copy(ConstFloatView from, FloatView to) override { tacit::copy<float>(from.host(), to.host()); }
  void wait() override {}
  Bytes wire(FloatView x) override { return std::as_writable_bytes(x.host()); }

 private:
  static constexpr std::align_val_t kLine{64};  // of the cache, and the widest vector that kernels load
  void release(FloatView x) noexcept override { ::operator delete(address(x), kLine); }
};

}  // namespace

Space& host_space() {
  static HostSpace space;
  return space;
}

Space& space_numbered(std::uint64_t number) {
  return number == 0 ? host_space() : *numbered.at(number).load(std::memory_order_acquire);
}

Space::Space() : number_(register_space(*this)) {}

Space::~Space() {
  if (number_ != 0) numbered.at(number_).store(nullptr);
}

Block::~Block() {
  if (!view_.empty()) view_.space().release(view_);
}

}  // namespace tacit
