// SPDX-License-Identifier: MIT
#include "transport/tcp/sockets.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace tacit {

using boost::asio::ip::tcp;

tcp::socket accept_closed_on_exec(tcp::acceptor& acceptor, boost::system::error_code& error) {
  tcp::socket socket(acceptor.get_executor());
  const int descriptor = ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) {
    error.assign(errno, boost::system::system_category());
    return socket;
  }
  const tcp protocol = acceptor.local_endpoint(error).protocol();
  if (!error) socket.assign(protocol, descriptor, error);
  if (error) ::close(descriptor);
  return socket;
}

}  // namespace tacit
