// SPDX-License-Identifier: MIT
#include "transport/tcp/shortcut.h"

#include <utility>

namespace tacit {

std::string Shortcut::propose() {
  if (!lower_ || bytes_ == 0) return {};
  std::string why;
  rings_ = RingMemory::make(bytes_, why);
  if (rings_)
    connection_.send_control(
        {FrameType::kRings},
        encode(RingOffer{static_cast<std::uint32_t>(rings_->descriptor()), rings_->bytes()}));
  return why;
}

void Shortcut::on_rings(std::shared_ptr<RingMemory> rings) {
  if (lower_ || std::exchange(asked_, true)) throw BadFrame("it is not its turn to make rings");
  if (!rings || bytes_ == 0) return;
  rings_ = std::move(rings);
  rings_->close();
  connection_.write_through(RingWriter(rings_->to_maker()));
}

void Shortcut::on_switch() {
  if (!rings_ || std::exchange(reads_, true)) throw BadFrame("a switch to a ring that there is not");
  const std::shared_ptr<RingMemory> rings = std::move(rings_);
  connection_.read_through(RingReader(lower_ ? rings->to_maker() : rings->from_maker()));
  if (!lower_) return;
  rings->close();
  connection_.write_through(RingWriter(rings->from_maker()));
}

}  // namespace tacit
