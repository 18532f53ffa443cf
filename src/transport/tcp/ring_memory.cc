// SPDX-License-Identifier: MIT
#include "transport/tcp/ring_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

namespace tacit {
namespace {

constexpr std::size_t kPage = 4096;  // in front of each room: its control
constexpr std::size_t kLeastRoom = std::size_t{64} * 1024;
constexpr std::size_t kMostRoom = std::size_t{1} << 20U;
constexpr std::size_t kPerRank = std::size_t{8} << 20U;  // what a rank writes to, to all ranks of its machine
constexpr std::size_t kMostInRings = std::size_t{1}
                                     << 20U;  // of one round of messages to all ranks of the machine
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
static_assert(sizeof(RingControl) <= kPage);

constexpr std::size_t whole(std::size_t bytes) { return 2 * (kPage + bytes); }

// A file beyond the limit on files would not fail: it would end the process (SIGXFSZ).
bool allowed(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes;
}

}  // namespace

std::size_t ring_bytes(int local_ranks) {
  const auto peers = static_cast<std::size_t>(std::max(local_ranks, 2) - 1);
  const std::size_t share = std::bit_floor(std::min(kPerRank / peers, kMostRoom));
  return share < kLeastRoom ? 0 : share;
}

std::size_t most_by_ring(int local_ranks) {
  const auto peers = static_cast<std::size_t>(std::max(local_ranks, 2) - 1);
  return std::max(kMostInRings / peers, kLeastRoom);
}

std::shared_ptr<RingMemory> RingMemory::map(int descriptor, std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, whole(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) {
    const int why = errno;
    ::close(descriptor);
    errno = why;
    return nullptr;
  }
  ::madvise(memory, whole(bytes), MADV_DONTFORK);  // no process that this one starts has business here
  return std::shared_ptr<RingMemory>(new RingMemory(descriptor, static_cast<std::byte*>(memory), bytes));
}

std::shared_ptr<RingMemory> RingMemory::make(std::size_t bytes, std::string& why) {
  if (!allowed(whole(bytes))) {
    why = "the limit on the size of files (ulimit -f) is below " + std::to_string(whole(bytes)) + " bytes";
    return nullptr;
  }
  const int descriptor = ::memfd_create("tacit-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // All pages now: a page that cannot be had later would end the process that touches it.
  const bool sealed = descriptor >= 0 && ::ftruncate(descriptor, static_cast<off_t>(whole(bytes))) == 0 &&
                      ::fallocate(descriptor, 0, 0, static_cast<off_t>(whole(bytes))) == 0 &&
                      ::fcntl(descriptor, F_ADD_SEALS, kSeals) == 0;
  std::shared_ptr<RingMemory> made = sealed ? map(descriptor, bytes) : nullptr;
  if (!made) {
    why = std::strerror(errno);
    if (!sealed && descriptor >= 0) ::close(descriptor);
    return nullptr;
  }
  for (const RingPlace& each : {made->from_maker(), made->to_maker()}) new (each.control) RingControl;
  return made;
}

std::shared_ptr<RingMemory> RingMemory::open(int descriptor, std::uint64_t bytes) {
  struct stat what {};
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  const bool ours = bytes >= kPage && bytes <= kMostRoom && std::has_single_bit(bytes) &&
                    ::fstat(descriptor, &what) == 0 && S_ISREG(what.st_mode) &&
                    what.st_size == static_cast<off_t>(whole(bytes)) && seals >= 0 &&
                    (seals & kSeals) == kSeals;
  if (ours) return map(descriptor, bytes);
  ::close(descriptor);
  errno = EINVAL;
  return nullptr;
}

RingMemory::~RingMemory() {
  close();
  ::munmap(memory_, whole(bytes_));
}

void RingMemory::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

RingPlace RingMemory::place(std::size_t which) const {
  std::byte* const begin = memory_ + which * (kPage + bytes_);
  return {reinterpret_cast<RingControl*>(begin), {begin + kPage, bytes_}, shared_from_this()};
}

RingPlace RingMemory::from_maker() const { return place(0); }
RingPlace RingMemory::to_maker() const { return place(1); }

}  // namespace tacit
