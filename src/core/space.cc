// SPDX-License-Identifier: MIT
#include "tacit/core/space.h"

#include <sys/mman.h>

#include <algorithm>
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

constexpr std::size_t kLine = 64;  // of the cache, and the widest vector that kernels load
constexpr std::size_t kLargePage = std::size_t{2} << 20U;

class HostSpace final : public Space {
 public:
  HostSpace() : Space(0) {}
  std::string_view name() const override { return "host"; }
  Block allocate(std::size_t floats) override {
    if (floats == 0) return {};
    if (floats > FloatView::kMostFloats) throw std::bad_array_new_length();
    auto* const at = reinterpret_cast<float*>(host_memory(floats * sizeof(float)).release());
    std::uninitialized_fill_n(at, floats, 0.0F);
    return block(std::span(at, floats));
  }
  const Kernels& kernels() const override { return kHostKernels; }
  void copy(ConstFloatView from, FloatView to) override { tacit::copy<float>(from.host(), to.host()); }
  void wait() override {}
  Bytes wire(FloatView x) override { return std::as_writable_bytes(x.host()); }

 private:
  void release(FloatView x) noexcept override { FreeHostMemory()(reinterpret_cast<std::byte*>(address(x))); }
};

}  // namespace

Space& host_space() {
  static HostSpace space;
  return space;
}

HostMemory host_memory(std::size_t bytes) {
  const std::size_t alignment = bytes < kLargePage ? kLine : kLargePage;
  void* at = nullptr;
  if (::posix_memalign(&at, alignment, std::max(bytes, kLine)) != 0) throw std::bad_alloc();
  // Where it is refused, small pages do.
  if (alignment == kLargePage) ::madvise(at, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  return HostMemory(static_cast<std::byte*>(at));
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
