// SPDX-License-Identifier: MIT
#include "transport/tcp/handshake.h"

#include <array>

namespace tacit {
namespace {

using Result = Stream::Result;

void wait_for(boost::asio::io_context& io, Stream& stream, Stream::Ready what, Deadline deadline) {
  const auto ready = std::make_shared<bool>(false);
  stream.wait(what, [ready](bool) { *ready = true; });
  if (run_until(io, deadline, [&] { return *ready; })) return;
  stream.cancel();
  throw StreamEnded("it did not answer in time");
}

}  // namespace

bool FrameReader::advance(Stream& stream) {
  for (;;) {
    const bool in_header = received_ < kFrameHeaderBytes;
    const Bytes into =
        in_header ? Bytes(head_).subspan(received_) : Bytes(payload_).subspan(received_ - kFrameHeaderBytes);
    if (!in_header && into.empty()) return true;
    std::size_t count = 0;
    const Result result = stream.read(into, {}, count);
    if (result == Result::kAgain) return false;
    if (result == Result::kClosed) throw StreamEnded("it closed the connection without an answer");
    if (result != Result::kDone) throw StreamEnded(stream.read_why());
    received_ += count;
    if (!in_header || received_ < kFrameHeaderBytes) continue;
    header_ = decode_frame(head_);
    if (header_.length > most_)
      throw BadFrame("a frame of " + std::to_string(header_.length) + " bytes before the ranks have met");
    payload_.resize(header_.length);
  }
}

bool run_until(boost::asio::io_context& io, Deadline deadline, const std::function<bool()>& done) {
  const RealClock clock;
  while (!done()) {
    if (clock.now() >= deadline) return false;
    io.run_one_until(RealClock::point(deadline));
  }
  return true;
}

void shake_hands(boost::asio::io_context& io, Stream& stream, Deadline deadline) {
  for (;;) {
    const Result result = stream.handshake();
    if (result == Result::kDone) return;
    if (result == Result::kClosed) throw StreamEnded("it closed the connection during the TLS handshake");
    if (result == Result::kFailed) throw StreamEnded("TLS: " + stream.read_why());
    wait_for(io, stream, Stream::Ready::kRead, deadline);
  }
}

void write_frame(boost::asio::io_context& io, Stream& stream, FrameHeader header, const Payload& payload,
                 Deadline deadline) {
  header.length = payload.size();
  const FrameHeaderBytes head = encode(header);
  Payload whole(head.begin(), head.end());
  whole.insert(whole.end(), payload.begin(), payload.end());
  ConstBytes rest = whole;
  for (;;) {
    std::size_t count = 0;
    const std::array<ConstBytes, 1> parts{rest};
    const Result result = stream.write(parts, count);
    rest = rest.subspan(count);
    if (result == Result::kDone) return;
    if (result != Result::kAgain) throw StreamEnded(stream.write_why());
    wait_for(io, stream, Stream::Ready::kWrite, deadline);
  }
}

Frame read_frame(boost::asio::io_context& io, Stream& stream, Deadline deadline) {
  FrameReader reader(kMostControlBytes);
  while (!reader.advance(stream)) wait_for(io, stream, Stream::Ready::kRead, deadline);
  return reader.take();
}

}  // namespace tacit
