// SPDX-License-Identifier: MIT
// How a rank finds another one and is let in by it.
#include <algorithm>
#include <optional>

#include "tacit/core/error.h"
#include "transport/limits.h"
#include "transport/tcp/meeting.h"
#include "transport/tcp/other_end.h"
#include "transport/tcp/sockets.h"

namespace tacit {
namespace {

using boost::asio::ip::tcp;

// The other side has no time for us; it may have later.
struct NoPlace : Error {
  using Error::Error;
};

}  // namespace

std::shared_ptr<Stream> Meeting::try_connect(const std::vector<tcp::endpoint>& addresses, std::string& why) {
  refused_ = !addresses.empty();
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
    refused_ = refused_ && *result == boost::asio::error::connection_refused;
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
    if (last && options_.entry > 0) throw StreamEnded(unknown.what());
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
    if (options_.entry > 0 && refused_) throw Gone(why);
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
    if (options_.entry > 0) throw;  // the others have had this key all along; this one is lost, or stopped
    throw InvalidConfig(me() + " and rank " + std::to_string(peer) + " do not have the same job key (" +
                        ended.what() + "); give all ranks one key");
  }
}

// Says who we are and hears whether we may come in.
Meeting::Answer Meeting::introduce(Stream& stream, int peer, std::uint16_t port) {
  const std::string them = "rank " + std::to_string(peer) + " at " + stream.remote().address().to_string() +
                           " port " + std::to_string(stream.remote().port());
  try {
    write_frame(io_, stream, {FrameType::kHello, options_.entry},
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
    return {std::move(welcome), static_cast<std::uint32_t>(frame.header.tag)};
  } catch (const StreamEnded& ended) {
    if (options_.entry > 0) throw;
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

}  // namespace tacit
