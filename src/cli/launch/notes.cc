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
  std::vector<char> now(known_.size());
  if (::pread(memory_.get(), now.data(), now.size(), 0) != static_cast<ssize_t>(now.size())) return;
  const std::vector<char> before = std::exchange(known_, now);
  for (std::size_t rank = 0; rank < now.size(); ++rank) {
    const auto note = static_cast<LauncherNote>(now[rank]);
    const bool is_one = note == LauncherNote::kOthersGoOn || note == LauncherNote::kGivenUp;
    if (now[rank] != before[rank] && is_one) noted_(static_cast<int>(rank), note);
  }
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
