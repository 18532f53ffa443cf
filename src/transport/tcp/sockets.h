// SPDX-License-Identifier: MIT
// Sockets that no process inherits which this one starts; those that Asio makes and accepts would be.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cerrno>

namespace tacit {

// Gives a socket or an acceptor its descriptor.
template <class Socket>
void open_closed_on_exec(Socket& socket, const boost::asio::ip::tcp& protocol,
                         boost::system::error_code& error) {
  const int descriptor = ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    error.assign(errno, boost::system::system_category());
    return;
  }
  socket.assign(protocol, descriptor, error);
  if (error) ::close(descriptor);
}

// From an acceptor that does not block: where nobody has come the error is would_block.
boost::asio::ip::tcp::socket accept_closed_on_exec(boost::asio::ip::tcp::acceptor& acceptor,
                                                   boost::system::error_code& error);

}  // namespace tacit
