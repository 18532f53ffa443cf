// SPDX-License-Identifier: MIT
#include "transport/tcp/rendezvous.h"

#include <algorithm>
#include <boost/asio/ip/host_name.hpp>
#include <optional>
#include <set>
#include <utility>

#include "tacit/core/error.h"
#include "transport/close_on_exec.h"
#include "transport/limits.h"
#include "transport/tcp/meeting.h"

namespace tacit {
namespace {

using boost::asio::ip::tcp;

// When a rank says for whom it waits, and how often it says so again.
constexpr Seconds kFirstWord{5};
constexpr Seconds kNextWord{30};

// How long a rank that comes back has until all have let it in: those that have done so must hear of it again before they
// miss it.
Seconds limit_of(const TcpOptions& options) {
  if (options.entry == 0) return options.start_limit;
  return std::min(options.start_limit, 0.75 * options.lost_after);
}

}  // namespace

Meeting::Meeting(boost::asio::io_context& io, const TcpOptions& options, const TlsContext* tls)
    : io_(io),
      options_(options),
      tls_(tls),
      met_{std::vector<std::shared_ptr<Stream>>(static_cast<std::size_t>(options.size)),
           std::vector<std::uint32_t>(static_cast<std::size_t>(options.size)),
           {}},
      began_(clock_.now()),
      limit_(limit_of(options)),
      deadline_(began_ + limit_),
      word_(io) {
  speak_in(std::min(kFirstWord, options.limits.stall));
}

void Meeting::speak_in(Seconds wait) {
  word_.expires_at(RealClock::point(clock_.now() + wait));
  word_.async_wait([this, here = here_](const boost::system::error_code& cancelled) {
    if (cancelled || !*here) return;
    if (wait_)
      options_.limits.report(me() + " waits for " + wait_() + ", for " +
                             std::to_string(static_cast<int>((clock_.now() - began_).count())) +
                             " s so far; after " + limit() + " it gives up");
    speak_in(kNextWord);
  });
}

namespace {

tcp::acceptor take_over(boost::asio::io_context& io, int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw InvalidConfig("descriptor " + std::to_string(descriptor) +
                        " is not a listening socket; TACIT_LISTEN_FD is for tacit launch");
  close_on_exec(descriptor);
  return {io, address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor};
}

tcp::acceptor host_acceptor(boost::asio::io_context& io, const MeetingPoint& point,
                            const TcpOptions& options) {
  if (options.listener >= 0) return take_over(io, options.listener);
  if (!point.is_file()) {
    const auto addresses = resolve(io, point.host, point.port);
    require_safe(addresses.front().address(), options);
    return listen_at(io, addresses.front());
  }
  const bool open = options.key || options.insecure_plaintext;
  const auto where = open ? boost::asio::ip::address_v4::any() : boost::asio::ip::address_v4::loopback();
  tcp::acceptor acceptor = listen_at(io, {where, 0});
  write_meeting_file(point.file, options.job, open ? boost::asio::ip::host_name() : where.to_string(),
                     acceptor.local_endpoint().port());
  return acceptor;
}

}  // namespace

// --- rank 0

void Meeting::require_all(Reception& reception) {
  wait_ = [&] { return name_ranks(reception.lobby().missing()) + " to come to " + options_.rendezvous; };
  const bool all = reception.receive_all(deadline_);
  wait_ = nullptr;
  if (all) return;
  const std::vector<int> missing = reception.lobby().missing();
  const std::string what = "after " + limit() + " " + std::to_string(missing.size()) + " of " +
                           std::to_string(options_.size) + " ranks had not come: " + list_ranks(missing) +
                           (reception.crowd().empty() ? "" : "; " + reception.crowd());
  reception.refuse_all(what, clock_.now() + Seconds(1));
  throw Timeout(me() + ": " + what + "; start them, or see why they cannot reach " + options_.rendezvous);
}

// Where each rank listens. A rank on our own machine may have come over loopback; others reach it where they reach us.
Welcome Meeting::roster(Reception& reception) const {
  Welcome answer{0, std::vector<Address>(static_cast<std::size_t>(options_.size))};
  std::string our_host;
  for (const auto& [rank, address] : reception.lobby().guests()) {
    const auto remote = boost::asio::ip::make_address(address.host);
    if (!remote.is_loopback()) our_host = reception.stream_of(rank).local().address().to_string();
  }
  for (const auto& [rank, address] : reception.lobby().guests()) {
    const bool local = boost::asio::ip::make_address(address.host).is_loopback();
    answer.roster[static_cast<std::size_t>(rank)] =
        local && !our_host.empty() ? Address{our_host, address.port} : address;
  }
  return answer;
}

void Meeting::wait_for_own_name(const MeetingPoint& point) {
  if (point.is_file() || options_.listener >= 0) return;
  std::string why;
  Seconds pause = kRetry;
  while (look_up(point, clock_.now() + pause >= deadline_, why).empty()) {
    waits_for("its own address (" + why + ")");
    rest(pause);
    pause = std::min(2 * pause, kMostRetry);
  }
}

std::unique_ptr<Reception> Meeting::receive_at(tcp::acceptor acceptor, bool answer_at_once) {
  return std::make_unique<Reception>(
      io_, std::move(acceptor), Lobby(options_.rank, options_.size, options_.job), settings(answer_at_once));
}

Met Meeting::all_met(std::unique_ptr<Reception> reception) {
  if (options_.take_back) met_.door = std::move(reception);
  return std::move(met_);
}

Met Meeting::host() {
  const MeetingPoint point = parse_meeting_point(options_.rendezvous);
  wait_for_own_name(point);
  auto reception = receive_at(host_acceptor(io_, point, options_), false);
  require_all(*reception);
  std::error_code ignored;
  if (point.is_file()) std::filesystem::remove(point.file, ignored);
  reception->welcome(roster(*reception), deadline_);
  for (int rank = 1; rank < options_.size; ++rank)
    met_.streams[static_cast<std::size_t>(rank)] = reception->take(rank);
  return all_met(std::move(reception));
}

// --- the others

tcp::acceptor Meeting::listen_for_peers(Stream& to_host) const {
  const auto local = to_host.local().address();
  if (!options_.key && !options_.insecure_plaintext) return listen_at(io_, {local, 0});
  return listen_at(io_, {local.is_v6() ? tcp::v6() : tcp::v4(), 0});
}

Met Meeting::join() {
  std::optional<tcp::acceptor> acceptor;
  const Entry host = enter(parse_meeting_point(options_.rendezvous), 0, [&](Stream& stream) {
    if (!acceptor) acceptor.emplace(listen_for_peers(stream));
    return acceptor->local_endpoint().port();
  });
  const std::vector<Address>& roster = host.answer.welcome.roster;
  if (roster.size() != met_.streams.size())
    throw Mismatch(me() + " was told of " + std::to_string(roster.size()) + " ranks and not of " +
                   std::to_string(met_.streams.size()));
  met_.streams[0] = host.stream;

  // Those below us first, while those above us wait: rank 1 waits for nobody, so this ends.
  auto reception = receive_at(std::move(*acceptor), true);
  for (int peer = 1; peer < options_.rank; ++peer) {
    const Address& at = roster[static_cast<std::size_t>(peer)];
    met_.streams[static_cast<std::size_t>(peer)] =
        enter({at.host, std::to_string(at.port), {}}, peer, [](Stream&) { return std::uint16_t{0}; }).stream;
  }
  const Lobby& lobby = reception->lobby();
  wait_ = [&] { return name_ranks(lobby.missing()) + " to connect to it"; };
  const bool all = reception->receive_all(deadline_);
  wait_ = nullptr;
  if (!all)
    throw Timeout(me() + ": " + name_ranks(lobby.missing()) + " did not connect within " + limit() +
                  (reception->crowd().empty() ? "" : "; " + reception->crowd()));
  for (int peer = options_.rank + 1; peer < options_.size; ++peer)
    met_.streams[static_cast<std::size_t>(peer)] = reception->take(peer);
  return all_met(std::move(reception));
}

// --- a rank that comes back

std::vector<int> Meeting::come_back_to(const TcpMember& member, const PortFor& port) {
  const auto at = static_cast<std::size_t>(member.rank);
  Entry entry = enter({member.host, std::to_string(member.port), {}}, member.rank, port);
  met_.streams[at] = std::move(entry.stream);
  met_.entries[at] = entry.answer.entry;
  std::vector<int> lost;
  const std::vector<Address>& roster = entry.answer.welcome.roster;
  for (std::size_t i = 0; i < roster.size(); ++i)
    if (roster[i].port == 0) lost.push_back(static_cast<int>(i));
  return lost;
}

// Those that nobody listens for have been lost since. One that does not answer may be stopped, and lost to the others,
// who say so: it is asked again when all others have been.
Met Meeting::come_back() try {
  std::optional<tcp::acceptor> acceptor;
  const PortFor port = [&](Stream& stream) {
    if (!acceptor) acceptor.emplace(listen_for_peers(stream));
    return acceptor->local_endpoint().port();
  };
  met_.entries[static_cast<std::size_t>(options_.rank)] = options_.entry;
  std::set<int> gone;
  std::vector<TcpMember> left = options_.members;
  for (const bool last : {false, true}) {
    for (const TcpMember& each : std::exchange(left, {})) {
      deadline_ = last ? began_ + limit_ : std::min(began_ + limit_, clock_.now() + limit_ / 8);
      try {
        for (const int lost : come_back_to(each, port)) gone.insert(lost);
      } catch (const Gone&) {
      } catch (const Error&) {
        if (last && !gone.contains(each.rank)) throw;
        left.push_back(each);
      }
    }
    std::erase_if(left, [&](const TcpMember& each) { return gone.contains(each.rank); });
  }
  if (!acceptor)
    throw PeerLost(options_.rank, options_.members.empty() ? options_.rank : options_.members.front().rank,
                   "nobody is left of the job that it comes back to");
  return all_met(receive_at(std::move(*acceptor), true));
} catch (const StreamEnded& ended) {
  throw PeerLost(options_.rank, options_.members.front().rank,
                 std::string("it was not let in again: ") + ended.what());
} catch (const Timeout& late) {
  throw PeerLost(options_.rank, options_.members.front().rank,
                 std::string("it came back and ") + late.what());
}

Met meet(boost::asio::io_context& io, const TcpOptions& options, const TlsContext* tls) {
  if (options.size == 1) return {std::vector<std::shared_ptr<Stream>>(1), std::vector<std::uint32_t>(1), {}};
  Meeting meeting(io, options, tls);
  try {
    if (options.entry > 0) return meeting.come_back();
    return options.rank == 0 ? meeting.host() : meeting.join();
  } catch (const StreamEnded& ended) {
    throw Mismatch("rank " + std::to_string(options.rank) + " lost a rank while they met: " + ended.what());
  }
}

}  // namespace tacit
