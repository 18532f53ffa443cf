// SPDX-License-Identifier: MIT
#include "cli/launch/notes.h"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace tacit::cli {
namespace {

constexpr std::chrono::milliseconds kLook{100};

}  // namespace

Notes::Notes(boost::asio::io_context& loop, int ranks, Noted noted)
    : memory_(make_note_memory(ranks)),
      noted_(std::move(noted)),
      timer_(loop),
      known_(static_cast<std::size_t>(ranks)) {
  look_again();
}

void Notes::look() {
  std::vector<Bytes> now(known_.size());
  const std::size_t size = now.size() * sizeof(Bytes);
  if (::pread(memory_.get(), now.data(), size, 0) != static_cast<ssize_t>(size)) return;
  const std::vector<Bytes> before = std::exchange(known_, now);
  for (std::size_t rank = 0; rank < now.size(); ++rank) {
    const auto [what, zero, low, high] = now[rank];
    const auto note = static_cast<LauncherNote>(what);
    const bool is_one = what <= static_cast<unsigned char>(LauncherNote::kGivenUp);
    const auto port = static_cast<std::uint16_t>(low | high << 8U);
    if (now[rank] != before[rank] && is_one) noted_(static_cast<int>(rank), note, port);
  }
}

void Notes::clear(int rank) {
  known_[static_cast<std::size_t>(rank)] = {};
  const Bytes nothing{};
  // It is the launcher's own memory, of this size: this does not fail.
  if (::pwrite(memory_.get(), nothing.data(), nothing.size(), off_t{kBytesPerNote} * rank) < 0) return;
}

void Notes::look_again() {
  timer_.expires_after(kLook);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    look();
    look_again();
  });
}

}  // namespace tacit::cli
