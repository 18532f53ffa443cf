// SPDX-License-Identifier: MIT
#include "fuzz/machine.h"

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "fuzz/frames_input.h"

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} * 1024;
bool small = false;
int reads_tried = 0;

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

extern "C" ssize_t process_vm_readv(pid_t process, const iovec* here, unsigned long, const iovec* there,
                                    unsigned long, unsigned long) noexcept {
  using namespace tacit::fuzz;
  ++reads_tried;
  const auto address = reinterpret_cast<std::uint64_t>(there->iov_base);
  const std::uint64_t at = address - kPeerMemory;
  if (process != static_cast<pid_t>(kPeerProcess) || address < kPeerMemory || at >= kPeerMemoryBytes) {
    errno = ESRCH;
    return -1;
  }
  const std::size_t count = std::min(there->iov_len, kPeerMemoryBytes - at);
  for (std::size_t i = 0; i < count; ++i) static_cast<std::byte*>(here->iov_base)[i] = peer_memory(at + i);
  return static_cast<ssize_t>(count);
}

namespace tacit::fuzz {

SmallMachine::SmallMachine() {
  small = true;
  reads_tried = 0;
}
SmallMachine::~SmallMachine() { small = false; }
int SmallMachine::reads() const { return reads_tried; }

}  // namespace tacit::fuzz
