// SPDX-License-Identifier: MIT
#include "core/long_file.h"

#include <algorithm>

namespace tacit {
namespace {

constexpr std::size_t kBlock = 4096;                  // as PlainFile has it
constexpr std::size_t kRoom = std::size_t{4} << 20U;  // so long that it lies at a multiple of a block

}  // namespace

LongFile::LongFile(PlainFile& file) : file_(file), room_(host_memory(kRoom)) { file_.bypass_cache(true); }

Bytes LongFile::room() const { return {room_.get(), kRoom}; }

void LongFile::write(ConstBytes data) {
  while (!data.empty()) {
    const ConstBytes some = data.first(std::min(data.size(), kRoom - used_));
    copy(some, room().subspan(used_, some.size()));
    data = data.subspan(some.size());
    used_ += some.size();
    if (used_ < kRoom) return;
    file_.write(room());
    used_ = 0;
  }
}

void LongFile::finish() {
  const std::size_t whole = used_ / kBlock * kBlock;
  file_.write(room().first(whole));
  file_.bypass_cache(false);
  file_.write(room().subspan(whole, used_ - whole));
  used_ = 0;
}

}  // namespace tacit
