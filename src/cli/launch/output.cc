// SPDX-License-Identifier: MIT
#include "cli/launch/output.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tacit::cli {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kRoom = std::size_t{1} << 20U;
// A pipe that poll calls writable takes this much without blocking.
constexpr std::size_t kPiece = 4096;

bool writable(int fd) {
  pollfd question{fd, POLLOUT, 0};
  return ::poll(&question, 1, 0) > 0;
}

void call_all(std::vector<std::function<void()>>& waiting) {
  for (const auto& go_on : std::exchange(waiting, {})) go_on();
}

}  // namespace

Output::Output(asio::io_context& loop, UniqueFd descriptor, std::function<void(const std::string&)> broken)
    : descriptor_(loop, descriptor.release()), broken_(std::move(broken)) {}

void Output::write(std::string_view bytes) {
  if (!descriptor_.is_open()) return;
  buffer_.append(bytes);
  if (!waits_) push();
}

void Output::push() {
  while (waiting() > 0 && writable(descriptor_.native_handle())) {
    const ssize_t count =
        ::write(descriptor_.native_handle(), buffer_.data() + written_, std::min(waiting(), kPiece));
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(std::strerror(errno));
    written_ += static_cast<std::size_t>(count);
  }
  if (waiting() > 0) wait();
  if (written_ > kRoom || waiting() == 0) {
    buffer_.erase(0, written_);
    written_ = 0;
  }
  tell();
}

void Output::wait() {
  waits_ = true;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_write, [this](boost::system::error_code error) {
    waits_ = false;
    if (error) return fail(error.message());
    push();
  });
}

void Output::fail(const std::string& why) {
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  buffer_.clear();
  written_ = 0;
  if (broken_) std::exchange(broken_, {})(why);
  tell();
}

void Output::tell() {
  if (waiting() < kRoom) call_all(want_room_);
  if (waiting() == 0) call_all(want_empty_);
}

void Output::when_room(std::function<void()> go_on) {
  if (waiting() < kRoom) return go_on();
  want_room_.push_back(std::move(go_on));
}

void Output::when_empty(std::function<void()> go_on) {
  if (waiting() == 0) return go_on();
  want_empty_.push_back(std::move(go_on));
}

void Output::close() {
  when_empty([this] {
    boost::system::error_code ignored;
    descriptor_.close(ignored);
  });
}

}  // namespace tacit::cli
