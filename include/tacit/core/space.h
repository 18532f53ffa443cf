// SPDX-License-Identifier: MIT
// Where a vector lies: in memory of the host, or nowhere, for runs that want to know what an algorithm costs and not
// what it computes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "tacit/core/views.h"

namespace tacit {

class Kernels;  // kernel_table.h

// Addresses in views, for those who write a space or its kernels.
class FloatAccess {
 protected:
  FloatAccess() = default;
  ~FloatAccess() = default;
  static float* address(FloatView x) { return x.data_; }
  static const float* address(ConstFloatView x) { return x.data_; }
  static FloatView view(const Space& space, std::span<float> at);
};

// Owns floats of a space.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept : view_(std::exchange(other.view_, {})) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(view_, other.view_);
    return *this;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  FloatView view() const { return view_; }

 private:
  friend class Space;
  explicit Block(FloatView view) : view_(view) {}
  FloatView view_;
};

// Lifetime  outlives every view and block of its.
// Threads   any.
class Space : protected FloatAccess {
 public:
  virtual ~Space();
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  virtual std::string_view name() const = 0;  // as errors say it
  // So many zeros. Throws where there is no room for them.
  virtual Block allocate(std::size_t floats) = 0;
  // What stands behind kernels::axpy and the others.
  virtual const Kernels& kernels() const = 0;
  // Both as long. One may be the host's.
  virtual void copy(ConstFloatView from, FloatView to) = 0;
  // Until what was queued is done.
  virtual void wait() = 0;
  // What a transport may read or write in place of x: see bytes_of().
  virtual Bytes wire(FloatView x) = 0;

 protected:
  // Gets a number of its own, under which views find it. A Bug where there are too many.
  Space();
  explicit Space(std::uint64_t number) : number_(number) {}  // the host's: 0
  static Block block(FloatView view) { return Block(view); }
  FloatView view(std::span<float> at) const { return FloatAccess::view(*this, at); }

 private:
  friend class Block;
  friend class FloatAccess;
  virtual void release(FloatView x) noexcept = 0;  // what allocate() gave

  const std::uint64_t number_;
};

inline FloatView FloatAccess::view(const Space& space, std::span<float> at) { return {at, space.number_}; }

Space& host_space();

struct FreeHostMemory {
  void operator()(std::byte* at) const noexcept { std::free(at); }
};
using HostMemory = std::unique_ptr<std::byte[], FreeHostMemory>;
// What the host's vectors and copies of them are made of: so many bytes from the begin of a cache line on, their content
// unspecified. Throws std::bad_alloc.
//
// Long ones lie in pages of 2 MiB where the system has such for who asks (/sys/kernel/mm/transparent_hugepage/enabled):
// memory is handed out a page at a time when it is first written to, and ranks of one machine read each other's a page
// at a time.
HostMemory host_memory(std::size_t bytes);

// Of vectors without content: addresses and lengths that cost no memory. Its kernels do nothing, sums are 0, and the
// simulator carries it without looking. Whoever reads or writes an element crashes at once.
Space& phantom_space();

}  // namespace tacit
