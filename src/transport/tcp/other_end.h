// SPDX-License-Identifier: MIT
// Who holds the other end of a connection within this machine, as the kernel tells it.
#pragma once

#include <sys/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "transport/tcp/stream.h"

namespace tacit {

// A connection as this side sees it.
struct SocketEnds {
  boost::asio::ip::tcp::endpoint here;
  boost::asio::ip::tcp::endpoint there;
};

// Nothing where it is not connected any more.
std::optional<SocketEnds> ends_of(const Stream& stream);

struct OtherEnd {
  uid_t user;
  std::uint32_t inode;  // of the socket, as the links in /proc/PID/fd name it
};

// Nothing where no process of this machine holds it: it is elsewhere, it has closed, or it has not accepted yet.
std::optional<OtherEnd> find_other_end(const SocketEnds& ends);

// Without a key nothing else tells users apart. Why this connection is none between processes of one user; empty: it is
// one, or goes beyond this machine.
std::string foreign_user(const SocketEnds& ends);

}  // namespace tacit
