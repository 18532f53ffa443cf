// SPDX-License-Identifier: MIT
#include "transport/tcp/reception.h"

#include <array>
#include <utility>

namespace tacit {
namespace {

using boost::asio::ip::tcp;
using Result = Stream::Result;

constexpr std::size_t kMostGuests = 256;        // talked to at once; more wait in the kernel's queue
constexpr std::chrono::seconds kGuestLimit{5};  // to say who one is
constexpr std::size_t kMostHelloBytes = 1024;
constexpr int kMostReports = 8;

}  // namespace

struct Reception::Guest {
  Guest(boost::asio::io_context& io, tcp::socket socket, const TlsContext* tls, std::string name)
      : from(std::move(name)),
        stream(std::make_shared<Stream>(std::move(socket), tls, Stream::Role::kServer)),
        limit(io) {}
  const std::string from;  // for messages
  int number = 0;
  std::shared_ptr<Stream> stream;
  boost::asio::steady_timer limit;
  FrameReader reader{kMostHelloBytes};
  bool shaken = false;
};

Reception::Reception(boost::asio::io_context& io, tcp::acceptor acceptor, Lobby lobby, Settings settings)
    : io_(io), acceptor_(std::move(acceptor)), lobby_(std::move(lobby)), settings_(std::move(settings)) {
  accept_next();
}

Reception::~Reception() {
  // Handlers keep guests alive until they run; whoever is late must not have to wait for that.
  while (!guests_.empty())
    send_away(std::shared_ptr<Guest>(guests_.begin()->second),
              "the ranks of this job have met, and nobody is missing");
  *here_ = false;
  if (sent_away_ > kMostReports)
    settings_.report("rank " + std::to_string(lobby_.host()) + ": " +
                     std::to_string(sent_away_ - kMostReports) + " more strangers were sent away");
}

void Reception::accept_next() {
  if (std::exchange(accepting_, true)) return;
  acceptor_.async_accept([this, here = here_](const boost::system::error_code& error, tcp::socket socket) {
    if (!*here) return;
    accepting_ = false;
    if (!error) greet(std::move(socket));
    if (guests_.size() < kMostGuests) accept_next();
  });
}

void Reception::greet(tcp::socket socket) {
  boost::system::error_code error;
  const tcp::endpoint from = socket.remote_endpoint(error);
  if (error) return;  // gone already
  auto guest = std::make_shared<Guest>(io_, std::move(socket), settings_.tls,
                                       from.address().to_string() + " port " + std::to_string(from.port()));
  guest->number = next_guest_++;
  guests_[guest->number] = guest;
  guest->limit.expires_after(kGuestLimit);
  guest->limit.async_wait([this, here = here_, guest](const boost::system::error_code& cancelled) {
    if (!cancelled && *here) send_away(guest, "it did not say who it is in time");
  });
  advance(guest);
}

void Reception::advance(const std::shared_ptr<Guest>& guest) {
  if (!guests_.contains(guest->number)) return;  // its time was up
  try {
    if (talk(*guest)) {
      guest->limit.cancel();
      guests_.erase(guest->number);
      accept_next();
      return;
    }
  } catch (const Error& error) {
    return send_away(guest, error.what());
  } catch (const boost::system::system_error& error) {
    return send_away(guest, error.what());
  }
  guest->stream->wait(Stream::Ready::kRead, [this, here = here_, guest](bool ready) {
    if (*here && ready) advance(guest);
  });
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
  const std::string objection = lobby_.objection(hello);
  if (!objection.empty()) throw Mismatch(objection);
  if (settings_.answer_at_once)
    write_frame(io_, *guest.stream, FrameType::kWelcome, encode(Welcome{lobby_.host(), {}}),
                RealClock().now() + Seconds(kGuestLimit));
  lobby_.enter(hello, guest.stream->remote().address().to_string());
  seated_[hello.rank] = guest.stream;
  if (!settings_.answer_at_once) watch(hello.rank);
}

// A rank that leaves before all have met may come again. Until it is answered it has nothing to say.
void Reception::watch(int rank) {
  const std::shared_ptr<Stream> stream = seated_.at(rank);
  stream->wait(Stream::Ready::kRead, [this, here = here_, rank, stream](bool ready) {
    if (!*here || !ready) return;
    const auto found = seated_.find(rank);
    if (found == seated_.end() || found->second != stream) return;
    seated_.erase(found);
    lobby_.leave(rank);
    settings_.report("rank " + std::to_string(lobby_.host()) + ": rank " + std::to_string(rank) +
                     " left before all had met");
  });
}

void Reception::send_away(const std::shared_ptr<Guest>& guest, const std::string& reason) {
  if (guests_.erase(guest->number) == 0) return;
  guest->limit.cancel();
  if (++sent_away_ <= kMostReports)
    settings_.report("rank " + std::to_string(lobby_.host()) + " sent " + guest->from + " away: " + reason);
  if (guest->shaken) {
    // A member is told why; whether a stranger reads it is its business, so nobody waits for it.
    const Payload payload = encode_refusal(reason);
    const FrameHeaderBytes head = encode(FrameHeader{FrameType::kRefusal, 0, payload.size()});
    const std::array<ConstBytes, 2> parts{ConstBytes(head), payload};
    std::size_t count = 0;
    (void)guest->stream->write(parts, count);
  }
  guest->stream->finish_writing();
  guest->stream->close();
  accept_next();
}

bool Reception::receive_all(Deadline deadline) {
  return run_until(io_, deadline, [&] { return lobby_.complete(); });
}

void Reception::welcome(const Welcome& answer, Deadline deadline) {
  for (const auto& [rank, stream] : seated_) stream->cancel();  // ends the watches
  for (const auto& [rank, stream] : seated_)
    write_frame(io_, *stream, FrameType::kWelcome, encode(answer), deadline);
}

void Reception::refuse_all(const std::string& reason, Deadline deadline) {
  for (const auto& [rank, stream] : seated_) {
    stream->cancel();
    try {
      write_frame(io_, *stream, FrameType::kRefusal, encode_refusal(reason), deadline);
      stream->finish_writing();
    } catch (const StreamEnded&) {  // it is gone: nobody to tell
    }
  }
}

}  // namespace tacit
