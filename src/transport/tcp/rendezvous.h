// SPDX-License-Identifier: MIT
// How ranks find each other: all go to rank 0, learn from it where the others are, and connect to those below them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "transport/tcp/reception.h"
#include "transport/tcp/stream.h"

namespace tacit {

// Who has met.
struct Met {
  std::vector<std::shared_ptr<Stream>> streams;  // by rank; none for the own one and for those that are lost
  std::vector<std::uint32_t> entries;            // likewise; the own one too
  std::unique_ptr<Reception> door;               // where ranks come back to; null where none may
};

// Runs `io` meanwhile. Errors as open_tcp().
Met meet(boost::asio::io_context& io, const TcpOptions& options, const TlsContext* tls);

}  // namespace tacit
