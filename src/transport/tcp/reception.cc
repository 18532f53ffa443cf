// SPDX-License-Identifier: MIT
#include "transport/tcp/reception.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "transport/tcp/other_end.h"
#include "transport/tcp/sockets.h"

namespace tacit {
namespace {

using boost::asio::ip::tcp;
using Result = Stream::Result;

constexpr std::size_t kMostGuests = 256;         // talked to at once
constexpr std::size_t kMostPerAddress = 16;      // of them from one address, while they have shown nothing
constexpr int kMostAtOnce = 16;                  // accepted before guests get their turn
constexpr std::chrono::seconds kGuestLimit{5};   // to say who one is
constexpr std::chrono::milliseconds kRest{100};  // where there is no descriptor for one more
constexpr std::size_t kMostHelloBytes = 1024;
constexpr int kMostReports = 8;

bool out_of_descriptors(const boost::system::error_code& error) {
  return error == boost::asio::error::no_descriptors ||
         error == boost::system::errc::too_many_files_open_in_system ||
         error == boost::asio::error::no_buffer_space || error == boost::asio::error::no_memory;
}

// A rank that may come in a little later.
struct ComeAgain {};

}  // namespace

struct Reception::Guest {
  Guest(boost::asio::io_context& io, tcp::socket socket, const TlsContext* tls, const tcp::endpoint& end)
      : from(end),
        stream(std::make_shared<Stream>(std::move(socket), tls, Stream::Role::kServer)),
        limit(io) {}
  std::string name() const { return from.address().to_string() + " port " + std::to_string(from.port()); }
  const tcp::endpoint from;
  int number = 0;
  std::shared_ptr<Stream> stream;
  boost::asio::steady_timer limit;
  FrameReader reader{kMostHelloBytes};
  bool shaken = false;
};

Reception::Reception(boost::asio::io_context& io, tcp::acceptor acceptor, Lobby lobby, Settings settings)
    : io_(io),
      acceptor_(std::move(acceptor)),
      lobby_(std::move(lobby)),
      settings_(std::move(settings)),
      rest_(io) {
  acceptor_.non_blocking(true);
  accept_next();
}

Reception::~Reception() {
  // Handlers keep guests alive until they run; whoever is late must not have to wait for that.
  while (!guests_.empty())
    send_away(std::shared_ptr<Guest>(guests_.begin()->second),
              "the ranks of this job have met, and nobody is missing");
  *here_ = false;
  if (sent_away_ > kMostReports)
    settings_.report(me() + ": " + std::to_string(sent_away_ - kMostReports) +
                     " more strangers were sent away");
  if (dropped_ > 1) settings_.report(me() + ": " + crowd());
}

std::string Reception::crowd() const {
  if (dropped_ == 0) return {};
  return std::to_string(dropped_) + " connections that did not say who they are, the last from " +
         last_dropped_ + ", were dropped to make room for others";
}

// --- the door

void Reception::accept_next() {
  if (std::exchange(accepting_, true)) return;
  acceptor_.async_wait(tcp::acceptor::wait_read,
                       [this, here = here_](const boost::system::error_code& error) {
                         if (*here && !error) accept_those_there();
                       });
}

void Reception::accept_those_there() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    if (guests_.size() >= kMostGuests && !drop_one(all_unproven(nullptr))) {
      accepting_ = false;  // whoever leaves opens the door again
      return;
    }
    boost::system::error_code error;
    tcp::socket socket = accept_closed_on_exec(acceptor_, error);
    if (error == boost::asio::error::would_block) break;
    if (out_of_descriptors(error)) return rest(error);
    if (error) continue;  // it is gone already
    const tcp::endpoint from = socket.remote_endpoint(error);
    if (error) continue;
    const boost::asio::ip::address address = from.address();
    if (const auto crowd = all_unproven(&address); crowd.size() >= kMostPerAddress) drop_one(crowd);
    greet(std::move(socket), from);
  }
  accepting_ = false;
  accept_next();
}

// Whoever waits at the door would wake us at once, and again and again.
void Reception::rest(const boost::system::error_code& why) {
  if (!std::exchange(rested_, true))
    settings_.report(me() + " cannot let anybody in for now: " + why.message() +
                     "; raise the limit (ulimit -n), or see who takes its descriptors");
  rest_.expires_after(kRest);
  rest_.async_wait([this, here = here_](const boost::system::error_code& cancelled) {
    if (cancelled || !*here) return;
    accepting_ = false;
    accept_next();
  });
}

// In TLS, whoever our side has not answered yet: it answers those who have the key. Without TLS, everybody.
bool Reception::unproven(Guest& guest) const {
  return settings_.tls == nullptr || (!guest.shaken && guest.stream->bytes_out() == 0);
}

// The oldest first, of one address or of all. What they have just said counts.
std::vector<std::shared_ptr<Reception::Guest>> Reception::all_unproven(const boost::asio::ip::address* from) {
  std::vector<std::shared_ptr<Guest>> crowd;
  for (const auto& [number, guest] : guests_)
    if (unproven(*guest) && (from == nullptr || guest->from.address() == *from)) crowd.push_back(guest);
  std::erase_if(crowd, [&](const auto& guest) { return !hear(guest) || !unproven(*guest); });
  return crowd;
}

// The oldest silent one, else the oldest. If it is a rank it comes again: it was told nothing, or that it may.
bool Reception::drop_one(const std::vector<std::shared_ptr<Guest>>& crowd) {
  if (crowd.empty()) return false;
  const auto silent =
      std::find_if(crowd.begin(), crowd.end(), [](const auto& g) { return g->stream->bytes_in() == 0; });
  const std::shared_ptr<Guest> guest = silent == crowd.end() ? crowd.front() : *silent;
  if (!dismiss(*guest, {})) return false;
  last_dropped_ = guest->from.address().to_string();
  if (++dropped_ == 1)
    settings_.report(me() + " dropped " + guest->name() +
                     ", which did not say who it is, to make room for others; see what connects there");
  return true;
}

// --- guests

void Reception::greet(tcp::socket socket, const tcp::endpoint& from) {
  auto guest = std::make_shared<Guest>(io_, std::move(socket), settings_.tls, from);
  guest->number = next_guest_++;
  guests_[guest->number] = guest;
  if (settings_.tls == nullptr) {
    guest->shaken = true;
    const auto ends = ends_of(*guest->stream);
    const std::string foreign = ends ? foreign_user(*ends) : "it has hung up";
    if (!foreign.empty()) return send_away(guest, foreign);
  }
  guest->limit.expires_after(kGuestLimit);
  guest->limit.async_wait([this, here = here_, guest](const boost::system::error_code& cancelled) {
    if (!cancelled && *here) send_away(guest, "it did not say who it is in time");
  });
  advance(guest);
}

void Reception::advance(const std::shared_ptr<Guest>& guest) {
  if (!hear(guest)) return;
  guest->stream->wait(Stream::Ready::kRead, [this, here = here_, guest](bool ready) {
    if (*here && ready) advance(guest);
  });
}

// Whether it is still a guest: neither in nor sent away.
bool Reception::hear(const std::shared_ptr<Guest>& guest) {
  if (!guests_.contains(guest->number)) return false;  // its time was up
  try {
    if (!talk(*guest)) return true;
    guest->limit.cancel();
    guests_.erase(guest->number);
    accept_next();
  } catch (const ComeAgain&) {
    dismiss(*guest, {});
  } catch (const Error& error) {
    send_away(guest, error.what());
  } catch (const boost::system::system_error& error) {
    send_away(guest, error.what());
  }
  return false;
}

// True once the guest is in; throws where it may not be.
bool Reception::talk(Guest& guest) {
  if (!guest.shaken) {
    const Result result = guest.stream->handshake();
    if (result == Result::kAgain) return false;
    if (result != Result::kDone)
      throw StreamEnded("it does not have our job key (TLS: " +
                        (result == Result::kClosed ? "it hung up" : guest.stream->read_why()) + ")");
    guest.shaken = true;
  }
  if (!guest.reader.advance(*guest.stream)) return false;
  admit(guest);
  return true;
}

void Reception::admit(Guest& guest) {
  const Frame frame = guest.reader.take();
  if (frame.header.type != FrameType::kHello) throw BadFrame("a rank begins with a hello");
  const Hello hello = decode_hello(frame.payload);
  if (frame.header.tag != 0) return admit_again(guest, hello, static_cast<std::uint32_t>(frame.header.tag));
  if (take_back_.may) throw Mismatch("the ranks of this job have met, and nobody is missing");
  const std::string objection = lobby_.objection(hello);
  if (!objection.empty()) throw Mismatch(objection);
  if (settings_.answer_at_once)
    write_frame(io_, *guest.stream, {FrameType::kWelcome}, encode(Welcome{lobby_.host(), {}}),
                RealClock().now() + Seconds(kGuestLimit));
  lobby_.enter(hello, guest.stream->remote().address().to_string());
  seated_[hello.rank] = guest.stream;
  if (!settings_.answer_at_once) watch(hello.rank);
}

void Reception::admit_again(Guest& guest, const Hello& hello, std::uint32_t entry) {
  if (!take_back_.may) throw Mismatch("the ranks of this job take back nobody that was lost");
  const std::string objection = lobby_.objection_to_return(hello);
  if (!objection.empty()) throw Mismatch(objection);
  if (!take_back_.may(hello.rank, entry)) throw ComeAgain{};
  Welcome welcome{lobby_.host(), std::vector<Address>(static_cast<std::size_t>(lobby_.size()))};
  for (int rank = 0; rank < lobby_.size(); ++rank)
    welcome.roster[static_cast<std::size_t>(rank)].port = take_back_.here(rank) ? 1 : 0;
  write_frame(io_, *guest.stream, {FrameType::kWelcome, take_back_.entry}, encode(welcome),
              RealClock().now() + Seconds(kGuestLimit));
  take_back_.take(hello.rank, entry, guest.stream);
}

// A rank that leaves before all have met may come again. Until it is answered it has nothing to say.
void Reception::watch(int rank) {
  const std::shared_ptr<Stream> stream = seated_.at(rank);
  stream->wait(Stream::Ready::kRead, [this, here = here_, rank, stream](bool ready) {
    if (!*here || !ready) return;
    const auto found = seated_.find(rank);
    if (found == seated_.end() || found->second != stream) return;
    // What woke this wait may have been its hello, which was read already on another's turn.
    std::byte word{};
    std::size_t count = 0;
    if (stream->read(Bytes(&word, 1), {}, count) == Result::kAgain) return watch(rank);
    seated_.erase(found);
    lobby_.leave(rank);
    settings_.report(me() + ": rank " + std::to_string(rank) + " left before all had met");
  });
}

void Reception::send_away(const std::shared_ptr<Guest>& guest, const std::string& reason) {
  if (dismiss(*guest, reason) && ++sent_away_ <= kMostReports)
    settings_.report(me() + " sent " + guest->name() + " away: " + reason);
}

// False where it is no guest any more.
bool Reception::dismiss(Guest& guest, const std::string& reason) {
  if (guests_.erase(guest.number) == 0) return false;
  guest.limit.cancel();
  if (guest.shaken) {
    // A member is told why; whether a stranger reads it is its business, so nobody waits for it.
    const Payload payload = encode_refusal(reason);
    const FrameHeaderBytes head = encode(FrameHeader{FrameType::kRefusal, 0, payload.size()});
    const std::array<ConstBytes, 2> parts{ConstBytes(head), payload};
    std::size_t count = 0;
    (void)guest.stream->write(parts, count);
  }
  guest.stream->finish_writing();
  guest.stream->close();
  accept_next();
  return true;
}

bool Reception::receive_all(Deadline deadline) {
  return run_until(io_, deadline, [&] { return lobby_.complete(); });
}

void Reception::welcome(const Welcome& answer, Deadline deadline) {
  for (const auto& [rank, stream] : seated_) stream->cancel();  // ends the watches
  for (const auto& [rank, stream] : seated_)
    write_frame(io_, *stream, {FrameType::kWelcome}, encode(answer), deadline);
}

void Reception::refuse_all(const std::string& reason, Deadline deadline) {
  for (const auto& [rank, stream] : seated_) {
    stream->cancel();
    try {
      write_frame(io_, *stream, {FrameType::kRefusal}, encode_refusal(reason), deadline);
      stream->finish_writing();
    } catch (const StreamEnded&) {  // it is gone: nobody to tell
    }
  }
}

}  // namespace tacit
