// SPDX-License-Identifier: MIT
// Whatever a stranger sends before the ranks have met, and whatever is in a meeting file. The laws:
//   - what decodes encodes to the same bytes, but for texts that are made fit to be shown;
//   - a lobby lets in each rank above its host once, of its own job and size, and nobody else;
//   - a place to meet that is understood is understood in the same way when it is written out.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include "fuzz/loopback.h"
#include "fuzz/rendezvous_input.h"
#include "fuzz/target.h"
#include "tacit/core/text.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/lobby.h"
#include "transport/tcp/meeting_point.h"

namespace tacit::fuzz {
namespace {

struct Stage {
  int host = 0;
  int size = 1;
  std::size_t piece = 0;
  bool hangs_up = false;
  bool frees = false;
};

Stage parse_stage(ConstBytes bytes) {
  const int first = std::to_integer<int>(bytes[0]);
  const int host = first & 3;
  const std::byte last = bytes[2];
  return {host, host + 1 + (first >> 2) % 16, std::to_integer<std::size_t>(bytes[1]),
          (last & std::byte{1}) != std::byte{0}, (last & std::byte{2}) != std::byte{0}};
}

void check_shown(const std::string& text) {
  TACIT_CHECK(text == shown(text), "what a stranger said can be shown");
}

// Frames that come in pieces over a socket, read as before a meeting.
class Caller {
 public:
  Caller(Loopback::Pair& pair, ConstBytes bytes, const Stage& stage)
      : pair_(pair), bytes_(bytes), stage_(stage) {
    if (bytes_.size() > kMostPieces * stage_.piece) stage_.piece = 0;  // too slow
  }

  // The next frame; nothing where the bytes end. Throws BadFrame, StreamEnded.
  std::optional<Frame> next(std::size_t most) {
    FrameReader reader(most);
    while (!reader.advance(*pair_.stream)) {
      if (unread() > 0) {
        Loopback::wait_readable(pair_.descriptor);
      } else if (!send_piece()) {
        return std::nullopt;
      }
    }
    Frame frame = reader.take();
    TACIT_CHECK(frame.payload.size() <= most && frame.payload.size() == frame.header.length,
                "a frame is as long as it says");
    return frame;
  }

  // Leaves nothing to read. False: the connection is of no more use.
  bool drain() {
    std::array<std::byte, 4096> rest{};
    while (unread() > 0) {
      std::size_t count = 0;
      if (pair_.stream->read(rest, {}, count) == Stream::Result::kAgain)
        Loopback::wait_readable(pair_.descriptor);
    }
    return !hung_up_;
  }

 private:
  static constexpr std::size_t kMostPieces = 64;

  std::uint64_t unread() const { return sent_ - (pair_.stream->bytes_in() - start_); }

  bool send_piece() {
    if (sent_ < bytes_.size()) {
      const std::size_t rest = bytes_.size() - sent_;
      const std::size_t count = stage_.piece == 0 ? rest : std::min(stage_.piece, rest);
      pair_.peer.send(bytes_.subspan(sent_, count));
      sent_ += count;
      return true;
    }
    if (!stage_.hangs_up || std::exchange(hung_up_, true)) return false;
    pair_.peer.hang_up();
    Loopback::wait_readable(pair_.descriptor);
    return true;
  }

  Loopback::Pair& pair_;
  const ConstBytes bytes_;
  Stage stage_;
  const std::uint64_t start_ = pair_.stream->bytes_in();
  std::size_t sent_ = 0;
  bool hung_up_ = false;
};

void check_lobby(const Lobby& lobby, const std::set<int>& inside, int size) {
  TACIT_CHECK(lobby.guests().size() == inside.size(), "nobody else is inside");
  for (const auto& [rank, address] : lobby.guests())
    TACIT_CHECK(inside.contains(rank), "who is inside was let in");
  std::vector<int> outside;
  for (int rank = lobby.host() + 1; rank < size; ++rank)
    if (!inside.contains(rank)) outside.push_back(rank);
  TACIT_CHECK(lobby.missing() == outside, "who is not inside is missing");
  TACIT_CHECK(lobby.complete() == outside.empty(), "all are inside or somebody is missing");
  TACIT_CHECK(list_ranks(outside).empty() == outside.empty(), "the missing are named");
}

// As Reception does it.
void receive_guests(Caller& caller, const Stage& stage) {
  Lobby lobby(stage.host, stage.size, kJob);
  std::set<int> inside;
  for (;;) {
    const auto frame = caller.next(1024);
    if (!frame) return;
    if (frame->header.type != FrameType::kHello) throw BadFrame("a rank begins with a hello");
    const Hello hello = decode_hello(frame->payload);
    check_same(encode(hello), frame->payload);
    const bool expected =
        hello.job == kJob && hello.size == stage.size && hello.rank > stage.host && hello.rank < stage.size;
    const std::string objection = lobby.objection(hello);
    TACIT_CHECK(objection.empty() == (expected && !inside.contains(hello.rank)),
                "each rank of this job is let in once");
    if (objection.empty()) {
      lobby.enter(hello, "127.0.0.1");
      inside.insert(hello.rank);
    } else {
      check_shown(objection);
      if (expected && stage.frees) {
        lobby.leave(hello.rank);
        inside.erase(hello.rank);
      }
    }
    check_lobby(lobby, inside, stage.size);
  }
}

// As a rank that asks to be let in does it.
void hear_host(Caller& caller) {
  while (const auto frame = caller.next(kMostControlBytes)) {
    if (frame->header.type == FrameType::kRefusal) {
      check_shown(decode_refusal(frame->payload));
    } else if (frame->header.type == FrameType::kWelcome) {
      check_same(encode(decode_welcome(frame->payload)), frame->payload);
    } else {
      throw BadFrame("it did not answer our hello");
    }
  }
}

// The roles that need a socket. It serves all inputs until one hangs up.
void talk(Role role, ConstBytes bytes) {
  if (bytes.size() < kStageBytes) return;
  static Loopback loopback;
  static std::optional<Loopback::Pair> pair;
  if (!pair) pair.emplace(loopback.connect());
  const Stage stage = parse_stage(bytes);
  Caller caller(*pair, bytes.subspan(kStageBytes), stage);
  try {
    role == Role::kGuests ? receive_guests(caller, stage) : hear_host(caller);
  } catch (const BadFrame&) {
  } catch (const StreamEnded&) {
  }
  if (!caller.drain()) pair.reset();
}

void read_payload(ConstBytes bytes) {
  if (bytes.empty()) return;
  const ConstBytes payload = bytes.subspan(1);
  try {
    switch (std::to_integer<int>(bytes[0]) % 10) {
      case 0:
        return check_same(encode(decode_hello(payload)), payload);
      case 1:
        return check_same(encode(decode_welcome(payload)), payload);
      case 2:
        return check_shown(decode_refusal(payload));
      case 3:
        return check_shown(decode_departure(payload).why);
      case 4:
        return check_same(encode(decode_wait(payload)), payload);
      case 5:
        return check_same(encode(decode_proof(payload)), payload);
      case 6:
        return check_same(encode(decode_offer(payload)), payload);
      case 7:
        return check_same(encode_ticket(decode_ticket(payload)), payload);
      case 8:
        return check_same(encode_token(decode_token(payload)), payload);
      default:
        return check_same(encode(decode_rings(payload)), payload);
    }
  } catch (const BadFrame&) {
  }
}

// A file in memory that always says what it was last given.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("meeting", 0)) {
    TACIT_CHECK(descriptor_ >= 0, "the kernel has files in memory");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void write(ConstBytes bytes) const {
    TACIT_CHECK(::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) ==
                                                        static_cast<ssize_t>(bytes.size()),
                "it can be written");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

void read_file(ConstBytes bytes) {
  static const MemoryFile file;
  file.write(bytes);
  const auto point = read_meeting_file(file.path(), kJob);
  if (!point) return;
  TACIT_CHECK(!point->is_file() && !point->host.empty(), "the file names a host");
  const int port = std::stoi(point->port);
  TACIT_CHECK(port > 0 && port < 65536, "and its port");
  const std::string text = std::string("tacit ") + kJob + " " + point->host + " " + point->port + "\n";
  file.write(std::as_bytes(std::span(text)));
  const auto again = read_meeting_file(file.path(), kJob);
  TACIT_CHECK(again && again->host == point->host && again->port == point->port,
              "what is read can be written and read again");
}

void read_point(ConstBytes bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    const MeetingPoint point = parse_meeting_point(text);
    if (point.is_file()) {
      TACIT_CHECK(text == "file://" + point.file.string(), "a path is taken as it is");
      return;
    }
    const MeetingPoint again = parse_meeting_point("tcp://" + point.text());
    TACIT_CHECK(again.host == point.host && again.port == point.port,
                "what is understood is understood again");
  } catch (const InvalidConfig&) {
  }
}

}  // namespace
}  // namespace tacit::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tacit::fuzz;
  if (size == 0) return 0;
  const auto role = static_cast<Role>(data[0] % kRoles);
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (role) {
    case Role::kGuests:
    case Role::kHost:
      talk(role, bytes);
      break;
    case Role::kPayload:
      read_payload(bytes);
      break;
    case Role::kMeetingFile:
      read_file(bytes);
      break;
    case Role::kMeetingPoint:
      read_point(bytes);
      break;
  }
  return 0;
}
