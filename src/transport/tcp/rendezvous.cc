// SPDX-License-Identifier: MIT
#include "transport/tcp/rendezvous.h"

#include <algorithm>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>

#include "tacit/core/error.h"
#include "tacit/core/text.h"
#include "transport/close_on_exec.h"
#include "transport/limits.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/meeting_point.h"
#include "transport/tcp/other_end.h"
#include "transport/tcp/reception.h"
#include "transport/tcp/sockets.h"

namespace tacit {
namespace {

using boost::asio::ip::tcp;
using Streams = std::vector<std::shared_ptr<Stream>>;

constexpr Seconds kRetry{0.05};
constexpr Seconds kMostRetry{1};
// When a rank says for whom it waits, and how often it says so again.
constexpr Seconds kFirstWord{5};
constexpr Seconds kNextWord{30};

// The other side has no time for us; it may have later.
struct NoPlace : Error {
  using Error::Error;
};

// One rank's side of the meeting.
class Meeting {
 public:
  Meeting(boost::asio::io_context& io, const TcpOptions& options, const TlsContext* tls)
      : io_(io),
        options_(options),
        tls_(tls),
        streams_(static_cast<std::size_t>(options.size)),
        began_(clock_.now()),
        deadline_(began_ + options.start_limit),
        word_(io) {
    speak_in(std::min(kFirstWord, options.limits.stall));
  }
  ~Meeting() { *here_ = false; }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  Streams host();
  Streams join();

 private:
  std::string me() const { return "rank " + std::to_string(options_.rank); }
  std::string limit() const { return exact(options_.start_limit.count()) + " s"; }
  void speak_in(Seconds wait);
  void waits_for(std::string what) {
    wait_ = [what = std::move(what)] { return what; };
  }
  // Sleeps and lets what goes on beside it go on.
  void rest(Seconds duration) {
    run_until(io_, clock_.now() + duration, [] { return false; });
  }
  Reception::Settings settings(bool answer_at_once) const {
    return {tls_, answer_at_once, options_.limits.report};
  }
  void require_all(Reception& reception);
  Welcome roster(Reception& reception) const;
  std::shared_ptr<Stream> reach(const MeetingPoint& point, int peer);
  std::shared_ptr<Stream> try_connect(const std::vector<tcp::endpoint>& addresses, std::string& why);
  MeetingPoint find_host(const MeetingPoint& given);
  std::vector<tcp::endpoint> look_up(const MeetingPoint& at, bool last, std::string& why);
  void wait_for_own_name(const MeetingPoint& point);
  struct Entry {
    std::shared_ptr<Stream> stream;
    Welcome welcome;
  };
  using PortFor = std::function<std::uint16_t(Stream&)>;  // where we listen ourselves
  Entry enter(const MeetingPoint& point, int peer, const PortFor& port);
  void shake(Stream& stream, int peer);
  Welcome introduce(Stream& stream, int peer, std::uint16_t port);
  void require_same_user(Stream& stream, const std::string& them) const;
  tcp::acceptor listen_for_peers(Stream& to_host) const;

  boost::asio::io_context& io_;
  const TcpOptions& options_;
  const TlsContext* tls_;
  RealClock clock_;
  Streams streams_;
  const Seconds began_;
  const Deadline deadline_;
  std::function<std::string()> wait_;  // for whom this rank waits, and where, for its user
  boost::asio::steady_timer word_;
  const std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  // false once this is gone
};

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

Streams Meeting::host() {
  const MeetingPoint point = parse_meeting_point(options_.rendezvous);
  wait_for_own_name(point);
  Reception reception(io_, host_acceptor(io_, point, options_), Lobby(0, options_.size, options_.job),
                      settings(false));
  require_all(reception);
  std::error_code ignored;
  if (point.is_file()) std::filesystem::remove(point.file, ignored);
  reception.welcome(roster(reception), deadline_);
  for (int rank = 1; rank < options_.size; ++rank)
    streams_[static_cast<std::size_t>(rank)] = reception.take(rank);
  return std::move(streams_);
}

// --- the others

std::shared_ptr<Stream> Meeting::try_connect(const std::vector<tcp::endpoint>& addresses, std::string& why) {
  for (const tcp::endpoint& address : addresses) {
    const auto socket = std::make_shared<tcp::socket>(io_);
    const auto result = std::make_shared<boost::system::error_code>(boost::asio::error::would_block);
    boost::system::error_code error;
    open_closed_on_exec(*socket, address.protocol(), error);
    if (error) {
      why = error.message();
      continue;
    }
    socket->async_connect(address, [socket, result](const boost::system::error_code& e) { *result = e; });
    const bool ended = run_until(io_, std::min(deadline_, clock_.now() + Seconds(5)),
                                 [&] { return *result != boost::asio::error::would_block; });
    if (ended && !*result) return std::make_shared<Stream>(std::move(*socket), tls_, Stream::Role::kClient);
    why = ended ? result->message() : "no answer";
    socket->close(error);
  }
  return nullptr;
}

// The address in the file, once it is there; a point that is none already as it is.
MeetingPoint Meeting::find_host(const MeetingPoint& given) {
  if (!given.is_file()) return given;
  waits_for("rank 0 to write " + given.file.string());
  for (;;) {
    if (auto point = read_meeting_file(given.file, options_.job)) return *point;
    if (clock_.now() >= deadline_)
      throw Timeout(me() + " waited " + limit() + " for rank 0 to write " + given.file.string() +
                    " for job '" + options_.job + "'; is rank 0 running, and does it see the same disk?");
    rest(kRetry);
  }
}

// The addresses of a host. None while its name is not known, because a machine that has just been started may be known
// later than those that look for it, as a pod of Kubernetes is; with the last look that is an error.
std::vector<tcp::endpoint> Meeting::look_up(const MeetingPoint& at, bool last, std::string& why) {
  try {
    return resolve(io_, at.host, at.port);
  } catch (const InvalidConfig& unknown) {
    if (last) throw;
    why = unknown.what();
    return {};
  }
}

// Connects, however late the other side begins.
std::shared_ptr<Stream> Meeting::reach(const MeetingPoint& point, int peer) {
  Seconds pause = kRetry;
  std::string why;
  for (;;) {
    const MeetingPoint at = find_host(point);
    const auto addresses = look_up(at, clock_.now() + pause >= deadline_, why);
    if (!addresses.empty()) require_safe(addresses.front().address(), options_);
    waits_for("rank " + std::to_string(peer) + " at " + shown(at.text()) +
              (why.empty() ? "" : " (" + why + ")"));
    if (auto stream = try_connect(addresses, why)) return stream;
    if (clock_.now() + pause >= deadline_)
      throw Timeout(me() + " could not reach rank " + std::to_string(peer) + " at " + shown(at.text()) +
                    " within " + limit() + " (" + why +
                    "); is that rank running there, and does a firewall let us through?");
    rest(pause);
    pause = std::min(2 * pause, kMostRetry);
  }
}

// Both sides prove that they have the key.
void Meeting::shake(Stream& stream, int peer) {
  try {
    shake_hands(io_, stream, deadline_);
  } catch (const StreamEnded& ended) {
    // Whoever has another key says so. Silence is no proof of one: there may have been no place for us.
    if (stream.bytes_in() == 0) throw NoPlace(ended.what());
    throw InvalidConfig(me() + " and rank " + std::to_string(peer) + " do not have the same job key (" +
                        ended.what() + "); give all ranks one key");
  }
}

// Says who we are and hears whether we may come in.
Welcome Meeting::introduce(Stream& stream, int peer, std::uint16_t port) {
  const std::string them = "rank " + std::to_string(peer) + " at " + stream.remote().address().to_string() +
                           " port " + std::to_string(stream.remote().port());
  try {
    write_frame(io_, stream, FrameType::kHello,
                encode(Hello{options_.rank, options_.size, options_.job, port}), deadline_);
    waits_for(them + ", which it has reached" + (peer == 0 ? " and which waits for other ranks" : ""));
    const Frame frame = read_frame(io_, stream, deadline_);
    if (frame.header.type == FrameType::kRefusal) {
      const std::string reason = decode_refusal(frame.payload);
      if (reason.empty()) throw NoPlace("it has no place for us");
      throw Mismatch(me() + " was sent away by " + them + ": " + reason);
    }
    if (frame.header.type != FrameType::kWelcome) throw BadFrame("it did not answer our hello");
    Welcome welcome = decode_welcome(frame.payload);
    if (welcome.rank != peer) throw BadFrame("it is rank " + std::to_string(welcome.rank));
    require_same_user(stream, them);
    return welcome;
  } catch (const StreamEnded& ended) {
    if (clock_.now() >= deadline_)
      throw Timeout(me() + " reached " + them + ", which had not let it in after " + limit() +
                    ": it waits for others itself, and says for whom, or it hangs");
    throw Mismatch(me() + " was not let in by " + them + ": " + ended.what() +
                   (tls_ == nullptr ? "; perhaps it has a job key and this rank has none" : ""));
  } catch (const BadFrame& bad) {
    throw Mismatch(me() + " asked " + them + " to be let in, and that is no rank of this job: " + bad.what());
  }
}

// Asked once it has let us in: before it answers, nobody but the kernel may have accepted our connection.
void Meeting::require_same_user(Stream& stream, const std::string& them) const {
  const auto ends = ends_of(stream);
  if (tls_ != nullptr || !ends) return;
  const std::string foreign = foreign_user(*ends);
  if (!foreign.empty()) throw Mismatch(me() + " does not talk to " + them + ": " + foreign);
}

// Connects and comes in, again and again while there is no place for us.
Meeting::Entry Meeting::enter(const MeetingPoint& point, int peer, const PortFor& port) {
  Seconds pause = kRetry;
  for (;;) {
    const std::shared_ptr<Stream> stream = reach(point, peer);
    try {
      shake(*stream, peer);
      return {stream, introduce(*stream, peer, port(*stream))};
    } catch (const NoPlace& full) {
      if (clock_.now() + pause >= deadline_)
        throw Timeout(me() + " connected to rank " + std::to_string(peer) +
                      ", which did not talk to it within " + limit() + " (" + full.what() +
                      "); it hangs, or others take its places: see what else connects there");
    }
    rest(pause);
    pause = std::min(2 * pause, kMostRetry);
  }
}

tcp::acceptor Meeting::listen_for_peers(Stream& to_host) const {
  const auto local = to_host.local().address();
  if (!options_.key && !options_.insecure_plaintext) return listen_at(io_, {local, 0});
  return listen_at(io_, {local.is_v6() ? tcp::v6() : tcp::v4(), 0});
}

Streams Meeting::join() {
  std::optional<tcp::acceptor> acceptor;
  const Entry host = enter(parse_meeting_point(options_.rendezvous), 0, [&](Stream& stream) {
    if (!acceptor) acceptor.emplace(listen_for_peers(stream));
    return acceptor->local_endpoint().port();
  });
  const std::vector<Address>& roster = host.welcome.roster;
  if (roster.size() != streams_.size())
    throw Mismatch(me() + " was told of " + std::to_string(roster.size()) + " ranks and not of " +
                   std::to_string(streams_.size()));
  streams_[0] = host.stream;

  // Those below us first, while those above us wait: rank 1 waits for nobody, so this ends.
  Reception reception(io_, std::move(*acceptor), Lobby(options_.rank, options_.size, options_.job),
                      settings(true));
  for (int peer = 1; peer < options_.rank; ++peer) {
    const Address& at = roster[static_cast<std::size_t>(peer)];
    streams_[static_cast<std::size_t>(peer)] =
        enter({at.host, std::to_string(at.port), {}}, peer, [](Stream&) { return std::uint16_t{0}; }).stream;
  }
  wait_ = [&] { return name_ranks(reception.lobby().missing()) + " to connect to it"; };
  if (!reception.receive_all(deadline_))
    throw Timeout(me() + ": " + name_ranks(reception.lobby().missing()) + " did not connect within " +
                  limit() + (reception.crowd().empty() ? "" : "; " + reception.crowd()));
  for (int peer = options_.rank + 1; peer < options_.size; ++peer)
    streams_[static_cast<std::size_t>(peer)] = reception.take(peer);
  return std::move(streams_);
}

}  // namespace

Streams meet(boost::asio::io_context& io, const TcpOptions& options, const TlsContext* tls) {
  if (options.size == 1) return Streams(1);
  Meeting meeting(io, options, tls);
  try {
    return options.rank == 0 ? meeting.host() : meeting.join();
  } catch (const StreamEnded& ended) {
    throw Mismatch("rank " + std::to_string(options.rank) + " lost a rank while they met: " + ended.what());
  }
}

}  // namespace tacit
