// SPDX-License-Identifier: MIT
#include "transport/tcp/other_end.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tacit {
namespace {

using boost::asio::ip::tcp;

constexpr std::uint32_t kAnyState = 0xFFFFFFFF;

// IPv4 in the clothes of IPv6 is IPv4 to the kernel.
tcp::endpoint plain(const tcp::endpoint& end) {
  const auto& address = end.address();
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return end;
  return {boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()), end.port()};
}

void put_address(const tcp::endpoint& end, __be32* to) {
  if (end.address().is_v4()) {
    const auto bytes = end.address().to_v4().to_bytes();
    std::memcpy(to, bytes.data(), bytes.size());
  } else {
    const auto bytes = end.address().to_v6().to_bytes();
    std::memcpy(to, bytes.data(), bytes.size());
  }
}

struct Query {
  nlmsghdr head{};
  inet_diag_req_v2 body{};
};

// What the kernel answers; nothing where it cannot be asked so.
struct Reply {
  std::optional<OtherEnd> found;
};

std::optional<Reply> ask_kernel(const SocketEnds& ends) {
  Query query;
  query.head.nlmsg_len = sizeof query;
  query.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  query.head.nlmsg_flags = NLM_F_REQUEST;
  query.body.sdiag_family = ends.there.address().is_v4() ? AF_INET : AF_INET6;
  query.body.sdiag_protocol = IPPROTO_TCP;
  query.body.idiag_states = kAnyState;
  query.body.id.idiag_sport = htons(ends.there.port());
  query.body.id.idiag_dport = htons(ends.here.port());
  put_address(ends.there, query.body.id.idiag_src);
  put_address(ends.here, query.body.id.idiag_dst);
  query.body.id.idiag_cookie[0] = query.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;

  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (socket < 0) return std::nullopt;
  std::array<std::byte, 4096> answer{};
  const bool asked = ::send(socket, &query, sizeof query, 0) == static_cast<ssize_t>(sizeof query);
  const ssize_t count = asked ? ::recv(socket, answer.data(), answer.size(), MSG_DONTWAIT) : -1;
  ::close(socket);

  nlmsghdr head{};
  if (count < static_cast<ssize_t>(sizeof head)) return std::nullopt;
  std::memcpy(&head, answer.data(), sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR && count >= static_cast<ssize_t>(sizeof head + sizeof(nlmsgerr))) {
    nlmsgerr error{};
    std::memcpy(&error, &answer[sizeof head], sizeof error);
    if (error.error == -ENOENT) return Reply{};  // there is no such socket
    return std::nullopt;
  }
  inet_diag_msg message{};
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || count < static_cast<ssize_t>(sizeof head + sizeof message))
    return std::nullopt;
  std::memcpy(&message, &answer[sizeof head], sizeof message);
  return Reply{OtherEnd{message.idiag_uid, message.idiag_inode}};
}

// As /proc/net/tcp and tcp6 write it: the words of the address as numbers of this machine.
std::string in_table(const tcp::endpoint& end, bool six) {
  std::array<std::uint32_t, 4> words{};
  if (six && end.address().is_v4()) {
    const auto mapped = boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped, end.address().to_v4());
    std::memcpy(words.data(), mapped.to_bytes().data(), sizeof words);
  } else {
    put_address(end, words.data());
  }
  std::array<char, 48> text{};
  std::string line;
  for (std::size_t i = 0; i < (six ? 4 : 1); ++i) {
    std::snprintf(text.data(), text.size(), "%08X", words[i]);
    line += text.data();
  }
  std::snprintf(text.data(), text.size(), ":%04X", end.port());
  return line + text.data();
}

// Slower by the number of sockets there are, and there wherever /proc is.
std::optional<OtherEnd> look_up(const SocketEnds& ends) {
  for (const bool six : {false, true}) {
    if (!six && ends.there.address().is_v6()) continue;
    const std::string wanted = in_table(ends.there, six) + " " + in_table(ends.here, six) + " ";
    std::ifstream table(six ? "/proc/net/tcp6" : "/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      const std::size_t at = line.find(wanted);
      if (at == std::string::npos) continue;
      std::istringstream rest(line.substr(at + wanted.size()));
      std::string state;
      std::string queues;
      std::string timer;
      std::string retries;
      std::string timeout;
      OtherEnd end{};
      if (rest >> state >> queues >> timer >> retries >> end.user >> timeout >> end.inode) return end;
    }
  }
  return std::nullopt;
}

std::string name_of(uid_t user) {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known = ::getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found != nullptr;
  return known ? entry.pw_name + (" (" + std::to_string(user) + ")") : std::to_string(user);
}

}  // namespace

std::optional<SocketEnds> ends_of(const Stream& stream) try {
  return SocketEnds{stream.local(), stream.remote()};
} catch (const boost::system::system_error&) {
  return std::nullopt;
}

std::optional<OtherEnd> find_other_end(const SocketEnds& ends) {
  const SocketEnds both{plain(ends.here), plain(ends.there)};
  const std::optional<Reply> reply = ask_kernel(both);
  const std::optional<OtherEnd> found = reply ? reply->found : look_up(both);
  // A socket that no process holds has no inode, and no user that could be believed.
  return found && found->inode != 0 ? found : std::nullopt;
}

std::string foreign_user(const SocketEnds& ends) {
  if (!plain(ends.there).address().is_loopback()) return {};
  const std::optional<OtherEnd> other = find_other_end(ends);
  if (!other)
    return "it has hung up, or this machine does not tell whose process it is; give all ranks a job key";
  if (other->user == ::geteuid()) return {};
  return "its ends belong to users " + name_of(other->user) + " and " + name_of(::geteuid()) +
         ", and without a job key only processes of one user meet; if both are ranks, give all ranks one key "
         "(--key-file, or TACIT_KEY_FILE)";
}

}  // namespace tacit
