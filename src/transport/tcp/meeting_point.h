// SPDX-License-Identifier: MIT
// Where rank 0 is: given as an address, or written by it into a file.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tacit/core/clock.h"
#include "tacit/transport/tcp.h"
#include "transport/fabric.h"

namespace tacit {

struct MeetingPoint {
  std::string host;  // a name or a number; empty for a file
  std::string port;
  std::filesystem::path file;

  bool is_file() const { return !file.empty(); }
  std::string text() const;
};

// Throws InvalidConfig for anything but tcp://HOST:PORT and file://PATH.
MeetingPoint parse_meeting_point(const std::string& text);

// All addresses of a host. Throws InvalidConfig where the name does not resolve.
std::vector<boost::asio::ip::tcp::endpoint> resolve(boost::asio::io_context& io, const std::string& host,
                                                    const std::string& port);

// Throws InvalidConfig for an address beyond this machine without a key, unless the network is said to be closed.
void require_safe(const boost::asio::ip::address& address, const TcpOptions& options);

// A socket that listens there. Throws InvalidConfig for a port in use or an address that is not ours.
boost::asio::ip::tcp::acceptor listen_at(boost::asio::io_context& io,
                                         const boost::asio::ip::tcp::endpoint& where);

// The file says: "tacit JOB HOST PORT".
void write_meeting_file(const std::filesystem::path& file, const std::string& job, const std::string& host,
                        int port);
// Nothing, while the file is not there or is another job's.
std::optional<MeetingPoint> read_meeting_file(const std::filesystem::path& file, const std::string& job);

}  // namespace tacit
