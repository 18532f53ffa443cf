// SPDX-License-Identifier: MIT
// Frames before a connection is a Connection: written and read one at a time, within a limit.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "tacit/core/clock.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/messages.h"
#include "transport/tcp/stream.h"

namespace tacit {

// The other side closed, broke or did not answer in time; the message says which.
struct StreamEnded : Error {
  using Error::Error;
};

struct Frame {
  FrameHeader header;
  Payload payload;
};

// One frame, as its bytes come. Never holds more than a header and a payload of `most` bytes.
class FrameReader {
 public:
  explicit FrameReader(std::size_t most) : most_(most) {}
  // Reads what is there. True once the frame is whole. Throws BadFrame, StreamEnded.
  bool advance(Stream& stream);
  Frame take() { return {header_, std::move(payload_)}; }

 private:
  const std::size_t most_;
  FrameHeaderBytes head_{};
  FrameHeader header_{FrameType::kHello};
  Payload payload_;
  std::size_t received_ = 0;
};

// Runs `io` until done() or the deadline; says which.
bool run_until(boost::asio::io_context& io, Deadline deadline, const std::function<bool()>& done);

// Blocking forms, which run `io` meanwhile.
void shake_hands(boost::asio::io_context& io, Stream& stream, Deadline deadline);
// header.length is taken from the payload.
void write_frame(boost::asio::io_context& io, Stream& stream, FrameHeader header, const Payload& payload,
                 Deadline deadline);
Frame read_frame(boost::asio::io_context& io, Stream& stream, Deadline deadline);

}  // namespace tacit
