// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "transport/tcp/wire.h"

namespace tacit {

// A connected socket. Its descriptor stays until close() or the end of the wire.
class SocketWire final : public Wire {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  explicit SocketWire(Socket socket);

  Result read(Bytes first, Bytes second, std::size_t& count) override;
  Result write(std::span<const ConstBytes> parts, std::size_t& count) override;
  std::string read_why() const override { return read_why_; }
  std::string write_why() const override { return write_why_; }
  void wait(Ready what, WhenReady then) override;
  void cancel() override;
  boost::asio::any_io_executor executor() override { return socket_.get_executor(); }
  void shut_down() override;
  void finish_writing() override;
  void close() override;
  bool all_arrived() const override;  // the other machine's kernel has everything we sent
  boost::asio::ip::tcp::endpoint local() const override { return socket_.local_endpoint(); }
  boost::asio::ip::tcp::endpoint remote() const override { return socket_.remote_endpoint(); }

 private:
  Result explain(std::string& why);

  std::atomic<bool> unreachable_{false};
  mutable Socket socket_;  // Asio tells the descriptor of no constant one
  std::string read_why_;   // the reader's
  std::string write_why_;  // the writer's
};

}  // namespace tacit
