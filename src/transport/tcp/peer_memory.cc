// SPDX-License-Identifier: MIT
#include "transport/tcp/peer_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "tacit/transport/job_key.h"
#include "transport/tcp/other_end.h"

namespace tacit {
namespace {

// Pieces that stay in the cache while they are copied.
constexpr std::size_t kPiece = std::size_t{256} * 1024;

// A process that was meant once is meant for good: its number may be used again, the descriptor is not.
class ProcessHandle {
 public:
  explicit ProcessHandle(pid_t process)
      : number_(process), descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))) {}
  ~ProcessHandle() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ProcessHandle(const ProcessHandle&) = delete;
  ProcessHandle& operator=(const ProcessHandle&) = delete;

  pid_t number() const { return number_; }
  bool lives() const {
    pollfd ended{descriptor_, POLLIN, 0};
    return descriptor_ >= 0 && ::poll(&ended, 1, 0) == 0;
  }

 private:
  const pid_t number_;
  const int descriptor_;
};

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

// Whether it runs as `user` and nobody else. The owner of its folder would not do: that is root where it may not be
// dumped.
bool runs_as(pid_t process, uid_t user) {
  std::ifstream status(folder_of(process) + "/status");
  for (std::string word; status >> word;) {
    if (word != "Uid:") continue;
    uid_t real = 0;
    uid_t effective = 0;
    return (status >> real >> effective) && real == user && effective == user;
  }
  return false;
}

bool holds_socket(pid_t process, std::uint32_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  const std::string folder = folder_of(process) + "/fd";
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return false;
  bool found = false;
  while (const dirent* entry = found ? nullptr : ::readdir(entries)) {
    std::array<char, 64> link{};
    const ssize_t count =
        ::readlinkat(::dirfd(entries), static_cast<const char*>(entry->d_name), link.data(), link.size() - 1);
    found = count > 0 && wanted == link.data();
  }
  ::closedir(entries);
  return found;
}

class ProcessMemory final : public PeerMemory {
 public:
  explicit ProcessMemory(SocketEnds ends) : ends_(std::move(ends)) {}

  MemoryToken token() override {
    MemoryToken token{};
    std::copy_n(JobKey::random().bytes().begin(), token.size(), token.begin());
    return token;
  }

  // The peer is the process that holds the other end of our connection. That is our own where ranks are threads, and
  // only there.
  bool is(std::uint32_t process) override {
    if (process == 0 || process > static_cast<std::uint32_t>(std::numeric_limits<pid_t>::max())) return false;
    auto handle = std::make_unique<ProcessHandle>(static_cast<pid_t>(process));
    const std::optional<OtherEnd> other = find_other_end(ends_);
    const bool same = other && other->user == ::geteuid() && runs_as(handle->number(), ::geteuid()) &&
                      holds_socket(handle->number(), other->inode);
    // If it still lives, all that /proc said was about it.
    if (!same || !handle->lives()) return false;
    process_ = std::move(handle);
    return true;
  }

  std::shared_ptr<RingMemory> rings(std::uint32_t descriptor, std::uint64_t bytes,
                                    std::string& why) override {
    std::shared_ptr<RingMemory> opened = process_ ? open_rings(descriptor, bytes) : nullptr;
    if (!opened) why = "what it made cannot be opened here: " + std::string(std::strerror(errno));
    return opened;
  }

  bool read(std::uint64_t address, Bytes into) override {
    if (!process_ || !process_->lives()) return false;
    for (std::size_t at = 0; at < into.size();) {
      const std::size_t count = std::min(kPiece, into.size() - at);
      const iovec here{into.data() + at, count};
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process, never followed here
      const iovec there{reinterpret_cast<void*>(address + at), count};
      const ssize_t got = ::process_vm_readv(process_->number(), &here, 1, &there, 1, 0);
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    return process_->lives();  // so its number was not another's meanwhile
  }

 private:
  // errno says why there are none.
  std::shared_ptr<RingMemory> open_rings(std::uint32_t descriptor, std::uint64_t bytes) const {
    const std::string theirs = folder_of(process_->number()) + "/fd/" + std::to_string(descriptor);
    // First without opening it: what is there may be a device or a pipe, whose opening does something.
    const int found = ::open(theirs.c_str(), O_PATH | O_CLOEXEC);
    if (found < 0) return nullptr;
    struct stat what {};
    errno = EINVAL;  // for something else than memory
    const std::string here = "/proc/self/fd/" + std::to_string(found);
    const int opened = ::fstat(found, &what) == 0 && S_ISREG(what.st_mode) && process_->lives()
                           ? ::open(here.c_str(), O_RDWR | O_CLOEXEC)
                           : -1;
    const int why = errno;
    ::close(found);
    errno = why;
    return opened < 0 ? nullptr : RingMemory::open(opened, bytes);
  }

  const SocketEnds ends_;
  std::unique_ptr<ProcessHandle> process_;
};

}  // namespace

std::unique_ptr<PeerMemory> reach_memory(const TcpOptions& options, Stream& stream) {
  if (!options.key || !options.share_memory || !stream.same_machine()) return nullptr;
  const std::optional<SocketEnds> ends = ends_of(stream);
  return ends ? std::make_unique<ProcessMemory>(*ends) : nullptr;
}

}  // namespace tacit
