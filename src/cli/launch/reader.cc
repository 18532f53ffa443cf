// SPDX-License-Identifier: MIT
#include "cli/launch/reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <utility>

namespace tacit::cli {

namespace asio = boost::asio;

Reader::Reader(asio::io_context& loop, UniqueFd descriptor, Calls calls)
    : descriptor_(loop, descriptor.release()), calls_(std::move(calls)) {
  descriptor_.non_blocking(true);
}

void Reader::start() { wait_for_room(); }

void Reader::wait_for_room() {
  calls_.when_room([this] {
    if (!over_) read();
  });
}

void Reader::read() {
  descriptor_.async_read_some(asio::buffer(buffer_),
                              [this](boost::system::error_code error, std::size_t count) {
                                if (over_) return;
                                if (error) return end();
                                calls_.bytes({buffer_.data(), count});
                                wait_for_room();
                              });
}

void Reader::finish() {
  while (!over_) {
    boost::system::error_code error;
    const std::size_t count = descriptor_.read_some(asio::buffer(buffer_), error);
    if (error) return end();
    calls_.bytes({buffer_.data(), count});
  }
}

void Reader::end() {
  over_ = true;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  calls_.end();
}

}  // namespace tacit::cli
