// SPDX-License-Identifier: MIT
#include "cli/launch/terminal_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string_view>

namespace tacit::cli {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kLookAgain{200};

bool in_foreground(int terminal) { return ::tcgetpgrp(terminal) == ::getpgrp(); }

bool readable(int fd) {
  pollfd question{fd, POLLIN, 0};
  return ::poll(&question, 1, 0) > 0;
}

}  // namespace

TerminalInput::TerminalInput(asio::io_context& loop, UniqueFd to_rank)
    : terminal_(loop, duplicate(STDIN_FILENO).release()),
      background_(loop),
      rank_(loop, std::move(to_rank), [this](const std::string&) { terminal_.close(); }) {
  wait();
}

void TerminalInput::wait() {
  terminal_.async_wait(asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
    if (error) return rank_.close();
    if (in_foreground(terminal_.native_handle())) return read();
    background_.expires_after(kLookAgain);
    background_.async_wait([this](boost::system::error_code) { wait(); });
  });
}

void TerminalInput::read() {
  if (!readable(terminal_.native_handle())) return wait();  // somebody else was faster
  std::array<char, 4096> line{};
  const ssize_t count = ::read(terminal_.native_handle(), line.data(), line.size());
  if (count <= 0) return rank_.close();  // end of input, typed as Ctrl-D
  rank_.write(std::string_view(line.data(), static_cast<std::size_t>(count)));
  if (terminal_.is_open()) rank_.when_room([this] { wait(); });
}

}  // namespace tacit::cli
