// SPDX-License-Identifier: MIT
// How ranks find each other: all go to rank 0, learn from it where the others are, and connect to those below them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "tacit/transport/tcp.h"
#include "transport/fabric.h"
#include "transport/tcp/stream.h"

namespace tacit {

// A stream per rank, none for the own one. Runs `io` meanwhile. Errors as open_tcp().
std::vector<std::shared_ptr<Stream>> meet(boost::asio::io_context& io, const TcpOptions& options,
                                          const TlsContext* tls);

}  // namespace tacit
