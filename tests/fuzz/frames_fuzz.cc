// SPDX-License-Identifier: MIT
// Whatever a peer sends once the ranks have met, in whatever pieces, while the rank receives, waits, drops and sends.
// The connection is the product's, over a real socket. The laws:
//   - messages of one tag reach the receives of that tag in order, whole, whatever the pieces and whatever is dropped;
//   - what decodes encodes to the same bytes;
//   - the rank itself sends nothing but frames;
//   - nothing of a process's memory is read before the peer has been asked which process it is, and then once;
//   - what comes through a ring is as what comes from the socket.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "fuzz/frames_input.h"
#include "fuzz/loopback.h"
#include "fuzz/machine.h"
#include "fuzz/target.h"
#include "tacit/core/text.h"
#include "transport/inbox.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/offers.h"
#include "transport/tcp/wait_chain.h"

namespace tacit::fuzz {
namespace {

constexpr int kPeer = 1;

// A receive and what it got.
struct Asked {
  std::vector<std::byte> into;
  Request request;                              // none once it is dropped
  std::optional<std::vector<std::byte>> got{};  // the message
  bool refused = false;                         // it was longer than `into`
  bool ended = false;                           // a message came for it
};

// One process, of which the rank can read some bytes.
class SomeMemory final : public PeerMemory {
 public:
  explicit SomeMemory(std::shared_ptr<RingMemory> rings) : rings_(std::move(rings)) {}
  MemoryToken token() override {
    MemoryToken token{};
    for (std::size_t i = 0; i < token.size(); ++i) token[i] = peer_memory(i);
    return token;
  }
  bool is(std::uint32_t process) override {
    TACIT_CHECK(!std::exchange(asked_, true), "a peer says once which process it is");
    return is_ = process == kPeerProcess;
  }
  bool read(std::uint64_t address, Bytes into) override {
    TACIT_CHECK(is_, "no memory of another process is read");
    if (address == kPeerTicket && into.size() == sizeof(std::uint64_t)) {
      std::fill(into.begin(), into.end(), std::byte{0});
      into[0] = std::byte{1};
      return true;
    }
    const std::uint64_t at = address - kPeerMemory;
    if (address < kPeerMemory || at >= kPeerMemoryBytes || into.size() > kPeerMemoryBytes - at) return false;
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = peer_memory(at + i);
    return true;
  }
  // What a ring may claim of itself is tried in ring_test.cc.
  std::shared_ptr<RingMemory> rings(std::uint32_t descriptor, std::uint64_t bytes,
                                    std::string& why) override {
    TACIT_CHECK(is_, "no descriptor of another process is opened");
    if (rings_ && descriptor == kPeerRings) return RingMemory::open(::dup(rings_->descriptor()), bytes);
    why = "it has none there";
    return nullptr;
  }

 private:
  const std::shared_ptr<RingMemory> rings_;
  bool asked_ = false;
  bool is_ = false;
};

// The part of the TCP fabric that owns a connection, without its threads.
class Rank final : public ConnectionOwner {
 public:
  Rank(Loopback::Pair& pair, int number, std::unique_ptr<PeerMemory> memory)
      : stream_(std::move(pair.stream)),
        descriptor_(pair.descriptor),
        connection_(std::make_unique<Connection>(*this, inbox_, ledger_, kPeer, stream_)),
        offers_(std::make_unique<Offers>(kPeer, *connection_,
                                         Offers::Rank{inbox_, ledger_, *this, [] {}, number, kRingBytes},
                                         std::move(memory))) {
    offers_->invite();
  }
  ~Rank() override {
    asked_.clear();
    inbox_.clear();
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // Takes in everything up to this many bytes of the peer's.
  void read_up_to(std::uint64_t total) {
    while (!lost_ && stream_->bytes_in() < total) {
      const std::uint64_t before = stream_->bytes_in();
      connection_->advance(nullptr);
      if (!lost_ && stream_->bytes_in() == before) Loopback::wait_readable(descriptor_);
    }
  }

  void act(std::uint8_t step) {
    const Tag t = tag((step >> 3U) & 3U);
    const std::size_t size = kSizes[step >> 5U];
    try {
      switch (static_cast<Act>(step & 7U)) {
        case Act::kNothing:
          return;
        case Act::kReceive:
          return ask(kPeer, t, size, false);
        case Act::kReceiveFromAny:
          return ask(kAnyRank, t, size, false);
        case Act::kBorrow:
          return ask(kPeer, t, 0, true);
        case Act::kWait:
          return wait_for_one(t);
        case Act::kDropFirst:
          return drop(std::find_if(asked_[t].begin(), asked_[t].end(), has_request), asked_[t].end());
        case Act::kDropLast:
          return drop(std::find_if(asked_[t].rbegin(), asked_[t].rend(), has_request), asked_[t].rend());
        case Act::kSend:
          return send(t, size);
      }
    } catch (const PeerLost&) {        // nothing has come yet, or its memory is gone
    } catch (const Mismatch&) {        // longer than what was asked for
    } catch (const std::bad_alloc&) {  // a loan of more than there is memory for
    }
  }

  // Ends all receives and checks that they got what came, in order. Where memory was offered, order is not checked:
  // what is withdrawn in time never comes.
  void check(const std::map<Tag, std::vector<ConstBytes>>& came) {
    if (offered_) return;
    for (std::uint32_t number = 0; number < kTags; ++number) {
      const Tag t = tag(number);
      const auto found = came.find(t);
      check(t, found == came.end() ? std::vector<ConstBytes>{} : found->second);
    }
  }

  std::size_t controls() const { return controls_; }
  bool lost() const { return lost_; }
  bool switched() const { return switched_; }  // it reads from a ring

 private:
  static bool has_request(const Asked& asked) { return asked.request != nullptr; }

  void ask(int peer, Tag t, std::size_t size, bool borrow) {
    std::vector<std::byte> into(size);
    Request request = inbox_.receive({peer, t, into, borrow});
    asked_[t].push_back({std::move(into), std::move(request)});
  }

  void look(Asked& asked) {
    if (!asked.request->ready_by({})) return;
    asked.ended = true;
    try {
      const Arrival arrival = asked.request->wait();
      asked.got.emplace(arrival.data.begin(), arrival.data.end());
    } catch (const Mismatch&) {
      asked.refused = true;
    }
  }

  void wait_for_one(Tag t) {
    const auto found = std::find_if(asked_[t].begin(), asked_[t].end(), has_request);
    if (found != asked_[t].end()) found->request->wait();
  }

  template <class Iterator>
  void drop(Iterator which, Iterator end) {
    if (which == end) return;
    which->ended = which->request->ready_by({});
    which->request.reset();
  }

  void send(Tag t, std::size_t size) {
    static const std::vector<std::byte> data(kSizes.back());
    sent_.push_back(offers_->possible() ? offers_->make(t, ConstBytes(data).first(size))
                                        : connection_->send(t, ConstBytes(data).first(size)));
  }

  void check(Tag t, const std::vector<ConstBytes>& came) {
    std::vector<Asked>& asked = asked_[t];
    for (std::size_t rest = 0; rest <= came.size(); ++rest) ask(kPeer, t, 0, true);
    std::size_t next = 0;
    for (Asked& each : asked) {
      if (each.request) look(each);
      if (!each.request && !each.ended) continue;  // dropped in time: its message is the next one's
      TACIT_CHECK(each.ended == (next < came.size()), "each message ends the first receive that is there");
      if (!each.ended) continue;
      const ConstBytes expected = came[next++];
      if (each.got)
        TACIT_CHECK(std::equal(each.got->begin(), each.got->end(), expected.begin(), expected.end()),
                    "a message arrives as it was sent");
      if (each.refused) TACIT_CHECK(expected.size() > each.into.size(), "what fits is not refused");
    }
    TACIT_CHECK(next == came.size(), "all messages arrive");
  }

  // ConnectionOwner: as the fabric does it, with nobody to wait for.
  void wait(int, Tag, const std::atomic<bool>& done) override {
    if (!done.load()) connection_->advance(&done);
    if (!done.load()) throw PeerLost(0, kPeer, "it sends no more");
  }
  bool ready_by(int, Tag, const std::atomic<bool>& done, Deadline) override { return done.load(); }
  void wait_returned(int, const std::atomic<bool>&) override {}
  void between_reads(int, const std::function<void()>& fn) override { connection_->between_reads(fn); }
  void on_lost(int, const std::string& why) override {
    TACIT_CHECK(!lost_ && !why.empty(), "a peer is lost once, and for a reason");
    lost_ = true;
  }
  void on_progress() override {}
  void on_control(int, const FrameHeader& header, ConstBytes payload) override {
    if (header.type == FrameType::kHeartbeat) {
      const WaitState wait = decode_wait(payload);
      check_same(encode(wait), payload);
      describe_chain({{}, wait});
      describe_chain({wait, wait});
    } else if (header.type == FrameType::kGoodbye) {
      // Shown as it is, or else as something that can be shown.
      const Departure departure = decode_departure(payload);
      TACIT_CHECK(departure.why == shown(departure.why), "a reason can be shown");
    } else if (header.type == FrameType::kAccusation) {
      (void)decode_accusation(payload);
    } else if (header.type == FrameType::kCircle) {
      check_same(encode(decode_question(payload)), payload);
    } else if (header.type == FrameType::kGivenUp) {
      const Loss loss = decode_loss(payload);
      TACIT_CHECK(loss.why == shown(loss.why), "a reason can be shown");
    } else {
      offers_->on_frame(header, payload);
      check_offer(header.type, payload);
    }
    ++controls_;
  }

  void check_offer(FrameType type, ConstBytes payload) {
    if (type == FrameType::kMemory) check_same(encode_token(decode_token(payload)), payload);
    if (type == FrameType::kProof) check_same(encode(decode_proof(payload)), payload);
    if (type == FrameType::kOffer) check_same(encode(decode_offer(payload)), payload);
    if (type == FrameType::kRings) check_same(encode(decode_rings(payload)), payload);
    if (type == FrameType::kTaken || type == FrameType::kWithdraw)
      check_same(encode_ticket(decode_ticket(payload)), payload);
    offered_ = offered_ || type == FrameType::kOffer;
    switched_ = switched_ || type == FrameType::kSwitch;
  }

  const std::shared_ptr<Stream> stream_;
  const int descriptor_;
  Ledger ledger_{2, 0};
  Inbox inbox_{0, ledger_, *this};
  // Of their own memory and in this order, as in the fabric, so that the address sanitizer sees who outlives whom.
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Offers> offers_;
  std::map<Tag, std::vector<Asked>> asked_;
  std::vector<Request> sent_;
  std::size_t controls_ = 0;  // frames that were accepted
  bool lost_ = false;
  bool offered_ = false;
  bool switched_ = false;
};

// The whole messages in a peer's bytes, up to the first frame that is none or was refused. Between the switch and the
// last `by_ring` bytes are bells.
std::map<Tag, std::vector<ConstBytes>> messages_in(ConstBytes bytes, std::size_t controls,
                                                   std::size_t by_ring) {
  std::map<Tag, std::vector<ConstBytes>> messages;
  try {
    while (bytes.size() >= kFrameHeaderBytes) {
      const FrameHeader header = decode_frame(bytes);
      check_same(encode(header), bytes.first(kFrameHeaderBytes));
      bytes = bytes.subspan(kFrameHeaderBytes);
      if (header.length > bytes.size()) break;
      if (header.type == FrameType::kData) {
        messages[*Tag::from_bits(header.tag)].push_back(bytes.first(header.length));
      } else if (controls-- == 0) {
        break;
      }
      bytes = header.type == FrameType::kSwitch ? bytes.last(by_ring) : bytes.subspan(header.length);
    }
  } catch (const BadFrame&) {
  }
  return messages;
}

// Up to the switch, which only bells follow.
void check_frames(ConstBytes bytes) {
  while (bytes.size() >= kFrameHeaderBytes) {
    const FrameHeader header = decode_frame(bytes);
    if (header.type == FrameType::kSwitch) return;
    bytes = bytes.subspan(kFrameHeaderBytes);
    bytes = bytes.subspan(std::min<std::size_t>(header.length, bytes.size()));
  }
}

struct Input {
  bool tries_memory = false;
  bool higher = false;
  ConstBytes steps;
  ConstBytes bytes;
};

Input parse(ConstBytes input) {
  if (input.size() < 2) return {};
  const std::size_t most = std::to_integer<std::size_t>(input[1]) % kMostSteps;
  const std::size_t count = std::min(most, (input.size() - 2) / 2);
  return {(input[0] & std::byte{1}) != std::byte{0}, (input[0] & std::byte{2}) != std::byte{0},
          input.subspan(2, 2 * count), input.subspan(2 + 2 * count)};
}

// What the peer made, as far as it is the peer's to use.
class PeerRings {
 public:
  explicit PeerRings(std::shared_ptr<RingMemory> memory)
      : memory_(std::move(memory)), out_(memory_->from_maker()), in_(memory_->to_maker()) {}

  const std::shared_ptr<RingMemory>& memory() const { return memory_; }
  std::size_t write(ConstBytes bytes) { return out_.write(std::array<ConstBytes, 1>{bytes}); }
  void check() {
    std::vector<std::byte> all(kRingBytes);
    all.resize(in_.read(all, {}));
    TACIT_CHECK(!in_.broken() && !out_.broken(), "a rank tells the truth of its rings");
    check_frames(all);
  }

 private:
  const std::shared_ptr<RingMemory> memory_;
  RingWriter out_;
  RingReader in_;
};

void play(const Input& input, Rank& rank, Peer& peer, PeerRings* rings) {
  const std::size_t count = input.steps.size() / 2;
  std::size_t sent = 0;
  std::size_t by_ring = 0;
  std::size_t bells = 0;
  const auto under_way = [&] { return sent < input.bytes.size() && !rank.lost(); };
  const auto send = [&](std::size_t most) {
    if (!under_way()) return;
    ConstBytes piece = input.bytes.subspan(sent, std::min(most, input.bytes.size() - sent));
    if (rank.switched() && rings != nullptr) {
      piece = piece.first(rings->write(piece));
      by_ring += piece.size();
      static constexpr std::array<std::byte, 1> kBell{};
      peer.send(kBell);
      ++bells;
    } else {
      peer.send(piece);
    }
    sent += piece.size();
    rank.read_up_to(sent + bells);
  };
  const std::size_t most_turns = count == 0 ? 0 : kMostTurns;
  for (std::size_t turn = 0; turn < count || (turn < most_turns && under_way()); ++turn) {
    const ConstBytes step = input.steps.subspan(turn % count * 2, 2);
    send(std::to_integer<std::size_t>(step[0]));
    rank.act(std::to_integer<std::uint8_t>(step[1]));
  }
  while (under_way()) send(kRingBytes);
  rank.check(messages_in(input.bytes.first(sent), rank.controls(), by_ring));
}

// Rings of the peer's, where it is to make them.
std::unique_ptr<PeerRings> rings_for(const Input& input) {
  if (!input.tries_memory || !input.higher) return nullptr;
  std::string why;
  std::shared_ptr<RingMemory> made = RingMemory::make(kRingBytes, why);
  return made ? std::make_unique<PeerRings>(std::move(made)) : nullptr;
}

}  // namespace
}  // namespace tacit::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tacit::fuzz;
  static Loopback loopback;
  const Input input = parse(std::as_bytes(std::span(data, size)));
  Loopback::Pair pair = loopback.connect();
  const std::unique_ptr<PeerRings> rings = rings_for(input);
  {
    const SmallMachine machine;
    Rank rank(pair, input.higher ? kPeer + 1 : 0,
              input.tries_memory ? std::make_unique<SomeMemory>(rings ? rings->memory() : nullptr) : nullptr);
    play(input, rank, pair.peer, rings.get());
    loopback.forget();  // a look that was put off is the rank's
  }
  if (rings) rings->check();
  check_frames(pair.peer.receive());
  loopback.forget();
  return 0;
}
