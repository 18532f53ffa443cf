// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "tacit/core/views.h"
#include "transport/tcp/frame.h"

namespace tacit {

// A frame that did not fit into the kernel's buffer at once.
struct Outgoing {
  Outgoing(const FrameHeader& h, ConstBytes bytes) : header(h), header_bytes(encode(h)), data(bytes) {}
  const FrameHeader header;
  const FrameHeaderBytes header_bytes;
  ConstBytes data;
  std::vector<std::byte> copy;  // what data points to, where the sender does not wait
  std::size_t written = 0;
  std::atomic<bool> done{false};

  std::size_t size() const { return kFrameHeaderBytes + data.size(); }
  void keep_copy() {
    copy.assign(data.begin(), data.end());
    data = copy;
  }
};

inline std::string broken_connection(const std::string& why) {
  return "its connection broke (" + why + "): its process ended or was killed, or the network was cut";
}

}  // namespace tacit
