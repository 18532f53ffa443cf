// SPDX-License-Identifier: MIT
#include "transport/tcp/meeting_point.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "transport/tcp/sockets.h"

namespace tacit {
namespace {

namespace ip = boost::asio::ip;

constexpr const char* kShape =
    "write tcp://HOST:PORT, or file://PATH for a file on a disk that all ranks see";

bool is_port(const std::string& text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port > 0 && port < 65536;
}

}  // namespace

std::string MeetingPoint::text() const {
  if (is_file()) return "file " + file.string();
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

MeetingPoint parse_meeting_point(const std::string& text) {
  if (text.starts_with("file://") && text.size() > 7) return {{}, {}, text.substr(7)};
  if (text.starts_with("tcp://")) {
    std::string host = text.substr(6);
    const std::size_t colon = host.rfind(':');
    if (colon != std::string::npos && colon > 0 && is_port(host.substr(colon + 1))) {
      std::string port = host.substr(colon + 1);
      host.resize(colon);
      if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
      if (host.find_first_of("[]") == std::string::npos) return {std::move(host), std::move(port), {}};
    }
  }
  throw InvalidConfig("'" + text + "' is not a place to meet; " + kShape);
}

std::vector<ip::tcp::endpoint> resolve(boost::asio::io_context& io, const std::string& host,
                                       const std::string& port) {
  boost::system::error_code error;
  ip::tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, port, error);
  if (error || found.empty())
    throw InvalidConfig("the host '" + shown(host) + "' does not resolve to an address (" + error.message() +
                        "); check its name, or give its number");
  std::vector<ip::tcp::endpoint> endpoints;
  for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  return endpoints;
}

void require_safe(const ip::address& address, const TcpOptions& options) {
  if (options.key || options.insecure_plaintext || address.is_loopback()) return;
  throw InvalidConfig(
      "without a job key ranks meet on this machine only, and " + address.to_string() +
      " is beyond it; start with tacit launch, which makes a key, or name one with --key-file or "
      "TACIT_KEY_FILE (openssl rand -hex 32), or say --insecure-plaintext on a closed network");
}

ip::tcp::acceptor listen_at(boost::asio::io_context& io, const ip::tcp::endpoint& where) {
  ip::tcp::acceptor acceptor(io);
  boost::system::error_code error;
  open_closed_on_exec(acceptor, where.protocol(), error);
  if (!error) acceptor.set_option(ip::tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(where, error);
  if (!error) acceptor.listen(SOMAXCONN, error);
  if (error == boost::asio::error::address_in_use)
    throw InvalidConfig("port " + std::to_string(where.port()) + " of " + where.address().to_string() +
                        " is in use; give another one to all ranks");
  if (error)
    throw InvalidConfig("cannot listen at " + where.address().to_string() + " port " +
                        std::to_string(where.port()) + ": " + error.message() +
                        "; rank 0 must run on the machine that the meeting point names");
  return acceptor;
}

void write_meeting_file(const std::filesystem::path& file, const std::string& job, const std::string& host,
                        int port) {
  const std::filesystem::path draft = file.string() + ".part";
  const std::string line = "tacit " + job + " " + host + " " + std::to_string(port) + "\n";
  // A draft of ours may be left from a run that was killed. What another user put there, a link to somewhere perhaps,
  // cannot be removed where the folder protects its users from each other, and is not written to anywhere.
  ::unlink(draft.c_str());
  const int out = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  bool written = out >= 0 && ::write(out, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (out >= 0) written = ::close(out) == 0 && written;
  written = written && ::rename(draft.c_str(), file.c_str()) == 0;  // nobody reads half a file
  if (!written)
    throw InvalidConfig("cannot write the meeting file " + file.string() + ": " + std::strerror(errno) +
                        "; give a folder that rank 0 may write to");
}

std::optional<MeetingPoint> read_meeting_file(const std::filesystem::path& file, const std::string& job) {
  std::ifstream in(file);
  std::array<char, 1024> line{};  // of whatever file the user named
  if (!in.getline(line.data(), line.size())) return std::nullopt;
  std::istringstream words(line.data());
  std::string magic;
  std::string whose;
  MeetingPoint point;
  words >> magic >> whose >> point.host >> point.port;
  if (!words || magic != "tacit" || whose != job || !is_port(point.port)) return std::nullopt;
  return point;
}

}  // namespace tacit
