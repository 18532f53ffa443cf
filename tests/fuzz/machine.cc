// SPDX-License-Identifier: MIT
#include "fuzz/machine.h"

#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} * 1024;
bool small = false;

void* allocate(std::size_t size) {
  void* memory = small && size > kMostBytes ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// All of one kind, so that the address sanitizer sees malloc and free only.
void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tacit::fuzz {

SmallMachine::SmallMachine() { small = true; }
SmallMachine::~SmallMachine() { small = false; }

}  // namespace tacit::fuzz
