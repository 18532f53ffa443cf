// SPDX-License-Identifier: MIT
#include "schedules/stream_schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "schedules/scheduled_rank.h"
#include "support/memory_wire.h"
#include "tacit/core/rng.h"

namespace tacit::test {
namespace {

using Ready = Wire::Ready;

// What a seed draws once.
struct Weather {
  int ranks;
  bool tls;
  std::uint64_t records_per_key;
  bool offers;
  bool cuts;
  std::size_t window;        // of a wire
  std::size_t piece;         // bytes that move at a time, at most
  std::size_t largest;       // message
  std::size_t most_at_once;  // bytes that one look takes in
  int actions;
  std::array<std::uint64_t, 4> weights;  // of acting, moving, telling, running

  static Weather draw(Rng& rng) {
    const auto one_of = [&](auto... each) {
      const std::array<std::size_t, sizeof...(each)> all{static_cast<std::size_t>(each)...};
      return all[rng.below(all.size())];
    };
    Weather w{};
    w.ranks = rng.below(4) == 0 ? 3 : 2;
    w.tls = rng.below(3) != 0;
    w.records_per_key = rng.below(3) == 0 ? 4 : TlsContext::kRecordsPerKey;
    w.offers = rng.below(3) == 0;
    w.cuts = rng.below(8) == 0;
    w.piece = one_of(3, 40, 700, 20'000, 1'000'000);
    w.window = std::max(w.piece, one_of(8, 100, 3'000, 70'000, 400'000));
    w.largest = std::min(one_of(40, 600, 20'000, 60'000), 400 * w.piece);
    if (w.window >= 3'000 && rng.below(32) == 0) w.largest = 400'000;
    w.most_at_once = one_of(1, 500, 20'000, 4U << 20U);
    w.actions = static_cast<int>(w.largest > 60'000 ? 8 : 10 + rng.below(50));
    for (std::uint64_t& weight : w.weights) weight = one_of(1, 4, 16);
    return w;
  }
};

const TlsContext& tls_context(std::uint64_t records_per_key) {
  static const TlsContext usual{JobKey::random(), "schedule"};
  static const TlsContext hasty{JobKey::random(), "schedule", 4};
  return records_per_key == TlsContext::kRecordsPerKey ? usual : hasty;
}

// One side of a link.
struct Port {
  int rank;
  int peer;
  MemoryWire* wire;
  std::shared_ptr<MemoryPipe> out;
  std::shared_ptr<Stream> stream;
  bool cut = false;
};

class StreamSchedule {
 public:
  explicit StreamSchedule(std::uint64_t seed)
      : rng_(seed, Rng::kEveryRank, 0, Rng::Use::kPeerChoice),
        weather_(Weather::draw(rng_)),
        // By the number and not by a draw, so that seeds that found something stay what they are.
        ring_bytes_(seed % 5 == 0   ? 4096
                    : seed % 5 == 1 ? 65536
                                    : 0) {
    for (int r = 0; r < weather_.ranks; ++r)
      ranks_.push_back(std::make_unique<ScheduledRank>(r, weather_.ranks, [this] { return step(); }));
    for (int a = 0; a < weather_.ranks; ++a)
      for (int b = a + 1; b < weather_.ranks; ++b) link(a, b);
  }

  // A rank that drops a send lets the others go on: all must still be there.
  ~StreamSchedule() {
    actions_ = 0;
    for (const auto& each : ranks_) each->drop_all();
  }
  StreamSchedule(const StreamSchedule&) = delete;
  StreamSchedule& operator=(const StreamSchedule&) = delete;

  void run(ScheduleResult& result) {
    actions_ = weather_.actions;
    while (actions_ > 0) step();
    settle();
    check(result);
    hang_up();
    result.events = events_;
  }

 private:
  ScheduledRank& rank(int r) { return *ranks_[static_cast<std::size_t>(r)]; }
  bool chance(std::uint64_t of) { return rng_.below(of) == 0; }

  void link(int a, int b) {
    MemoryLink link(rank(a).io(), rank(b).io(), rng_);
    const TlsContext* tls = weather_.tls ? &tls_context(weather_.records_per_key) : nullptr;
    for (const std::size_t side : {0U, 1U}) {
      link.pipes[side]->window = weather_.window;
      MemoryWire* wire = link.wires[side].get();
      auto stream = std::make_shared<Stream>(std::move(link.wires[side]), tls,
                                             side == 0 ? Stream::Role::kServer : Stream::Role::kClient);
      ports_.push_back({side == 0 ? a : b, side == 0 ? b : a, wire, link.pipes[side], std::move(stream)});
    }
  }

  // --- what may happen next

  // False: nothing is left to happen.
  bool step() {
    if (++events_ > kMostEvents) throw LawBroken("this goes on for ever");
    const auto& w = weather_.weights;
    std::uint64_t draw = rng_.below(w[0] + w[1] + w[2] + w[3]);
    if (draw < w[0] && actions_ > 0) {
      --actions_;
      act();
      return true;
    }
    draw = draw < w[0] ? rng_.below(w[1] + w[2] + w[3]) : draw - w[0];
    if (draw < w[1]) return move() || tell() || run_handler() || shake() || give_back();
    if (draw < w[1] + w[2]) return tell() || run_handler() || shake() || move() || give_back();
    return run_handler() || shake() || move() || tell() || give_back();
  }

  // The first of all ports, from a random one on, with which this succeeds.
  template <class Try>
  bool any_port(const Try& attempt) {
    const std::size_t from = rng_.below(ports_.size());
    for (std::size_t i = 0; i < ports_.size(); ++i)
      if (attempt(ports_[(from + i) % ports_.size()])) return true;
    return false;
  }

  bool move() {
    return any_port([&](const Port& port) {
      if (!port.out->moves()) return false;
      port.out->move(1 + rng_.below(weather_.piece));
      return true;
    });
  }

  bool tell() {
    return any_port([&](const Port& port) {
      const Ready first = chance(2) ? Ready::kRead : Ready::kWrite;
      for (const Ready what : {first, first == Ready::kRead ? Ready::kWrite : Ready::kRead}) {
        const bool for_nothing = actions_ > 0 && chance(16);
        if (!port.wire->waits_for(what) || !(port.wire->ready(what) || for_nothing)) continue;
        port.wire->tell(what);
        return true;
      }
      return false;
    });
  }

  bool run_handler() {
    const auto from = static_cast<int>(rng_.below(ranks_.size()));
    for (int i = 0; i < weather_.ranks; ++i) {
      ScheduledRank& each = rank((from + i) % weather_.ranks);
      each.io().restart();
      if (each.io().poll_one() == 0) continue;
      each.check_wakes(nullptr);
      return true;
    }
    return false;
  }

  // Whoever drops a send that a peer has borrowed waits until the peer gives it back, which it does in the end.
  bool give_back() {
    if (std::none_of(ranks_.begin(), ranks_.end(), [](const auto& each) { return each->blocked(); }))
      return false;
    bool some = false;
    for (const auto& each : ranks_) some = (!each->blocked() && each->finish_ready()) || some;
    return some;
  }

  // A side that has met the other begins at once, while the other may still be in the handshake.
  bool shake() {
    return any_port([&](Port& port) {
      if (rank(port.rank).connected(port.peer)) return false;
      const auto lies = [&] { return std::pair(port.out->sent.size(), port.stream->bytes_in()); };
      const auto before = lies();
      const Stream::Result result = port.stream->handshake();
      if (result == Stream::Result::kFailed) throw LawBroken("TLS: " + port.stream->read_why());
      if (result == Stream::Result::kDone)
        rank(port.rank).connect(port.peer, port.stream, weather_.most_at_once,
                                weather_.offers || ring_bytes_ > 0, ring_bytes_);
      return result == Stream::Result::kDone || lies() != before;
    });
  }

  std::size_t size() {
    const std::size_t most = chance(4) ? weather_.largest : std::min<std::size_t>(weather_.largest, 64);
    return rng_.below(most + 1);
  }

  void act() {
    ScheduledRank& me = rank(static_cast<int>(rng_.below(ranks_.size())));
    if (me.blocked()) return;
    const int peer = (me.rank() + 1 + static_cast<int>(rng_.below(ranks_.size() - 1))) % weather_.ranks;
    const auto tag = static_cast<unsigned>(rng_.below(Lot::kTags));
    const void* none = nullptr;
    switch (rng_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (me.connected(peer)) me.send(peer, tag, size(), chance(2));
        break;
      case 4:
      case 5:
      case 6:
        me.ask(chance(6) ? kAnyRank : peer, tag, weather_.largest + sizeof(std::uint64_t), chance(3));
        break;
      case 7:
      case 8:
        return me.look(rng_.next());
      case 9:
        me.finish_ready();
        break;
      case 10:
        chance(2) ? me.drop_asked(rng_.next()) : me.drop_sent(rng_.next());
        break;
      default:
        if (weather_.cuts && chance(8)) cut(me.rank(), peer);
    }
    me.check_wakes(none);
  }

  void cut(int a, int b) {
    if (!rank(a).connected(b) || !rank(b).connected(a)) return;
    for (Port& port : ports_) port.cut = port.cut || std::minmax(port.rank, port.peer) == std::minmax(a, b);
    rank(a).give_up(b);
  }

  // --- the end

  // Whoever waits spins on its request for a while before it sleeps.
  void drain() {
    const std::uint64_t looks = rng_.below(40);
    for (std::uint64_t i = 0; i < looks; ++i) {
      for (std::uint64_t pause = rng_.below(8); pause > 0; --pause) step();
      rank(static_cast<int>(rng_.below(ranks_.size()))).look(rng_.next());
    }
    while (step()) {
    }
  }

  // Asks for everything that may still come, and lets happen what happens.
  void settle() {
    drain();
    for (const Port& port : ports_)
      if (!rank(port.rank).connected(port.peer)) throw LawBroken("the handshake stalls");
    for (const auto& from : ranks_)
      for (const SentMessage& message : from->sent())
        rank(message.lot.to)
            .ask(from->rank(), message.lot.tag, weather_.largest + sizeof(std::uint64_t), chance(2));
    for (bool some = true; some;) {
      drain();
      some = false;
      for (const auto& each : ranks_) some = each->finish_ready() || some;
    }
  }

  void check(ScheduleResult& result) {
    for (const auto& each : ranks_)
      if (!each->broken().empty()) throw LawBroken(each->broken());
    for (const Port& port : ports_) {
      result.key_updates += port.stream->key_updates();
      result.cuts += port.cut ? 1 : 0;
      result.rings += rank(port.rank).by_ring(port.peer) ? 1 : 0;
      if (ring_bytes_ > 0 && !port.cut && !rank(port.rank).by_ring(port.peer))
        throw LawBroken("rank " + std::to_string(port.rank) + " has rings and stays on the wire");
      for (unsigned tag = 0; tag < Lot::kTags; ++tag)
        check_lot({port.rank, port.peer, tag}, port.cut, result);
      if (port.cut) continue;
      for (const AskedMessage& asked : rank(port.rank).asked())
        if (asked.lost_with == port.peer) throw LawBroken("an offer was given up, and nobody cut the link");
      if (rank(port.rank).lost(port.peer) != 0) throw LawBroken("a link is lost that nobody cut");
      rank(port.rank).check_rest(port.peer, port.stream->bytes_out());
      check_counts(port);
    }
  }

  // Each message once, in order; missing are those that were dropped.
  void check_lot(const Lot& lot, bool cut, ScheduleResult& result) {
    std::set<std::uint64_t> missing;
    for (const SentMessage& message : rank(lot.from).sent()) {
      if (message.lot != lot) continue;
      result.offers += message.offered ? 1 : 0;
      if (!message.optional) missing.insert(message.number);
    }
    std::uint64_t next = 0;
    std::uint64_t blind = 0;
    for (const AskedMessage& asked : rank(lot.to).asked()) {
      if (asked.tag != lot.tag) continue;
      if (asked.blind && (asked.from == kAnyRank || asked.from == lot.from)) ++blind;
      if (asked.got_from != lot.from) continue;
      if (asked.got_number < next)
        throw LawBroken("message " + std::to_string(asked.got_number) + " " + lot.text() + " came after " +
                        std::to_string(next - 1));
      next = asked.got_number + 1;
      missing.erase(asked.got_number);
      ++result.messages;
    }
    if (!cut && missing.size() > blind)
      throw LawBroken("message " + std::to_string(*missing.begin()) + " " + lot.text() +
                      " was sent and nothing is left to happen: a stall");
  }

  void check_counts(const Port& port) {
    const auto drops = [&](const auto& all, auto is) { return std::any_of(all.begin(), all.end(), is); };
    if (drops(rank(port.rank).sent(), [](const SentMessage& m) { return m.offered && m.optional; })) return;
    if (drops(rank(port.peer).asked(), [](const AskedMessage& a) { return a.blind; })) return;
    const Traffic sent = rank(port.rank).ledger().sent(port.peer, Tag::Lane::kTrain);
    const Traffic got = rank(port.peer).ledger().received(port.rank, Tag::Lane::kTrain);
    if (sent.messages != got.messages || sent.payload != got.payload)
      throw LawBroken("rank " + std::to_string(port.rank) + " counts " + std::to_string(sent.messages) +
                      " messages of " + std::to_string(sent.payload) + " bytes to rank " +
                      std::to_string(port.peer) + ", which counts " + std::to_string(got.messages) + " of " +
                      std::to_string(got.payload));
  }

  // What is still asked for is dropped, and whoever hangs up is lost to the others.
  void hang_up() {
    for (const auto& each : ranks_) each->drop_all();
    drain();
    for (const auto& each : ranks_)
      if (!each->broken().empty()) throw LawBroken(each->broken());
    const auto who = static_cast<int>(rng_.below(ranks_.size()));
    for (int peer = 0; peer < weather_.ranks; ++peer)
      if (peer != who) rank(who).give_up(peer);
    drain();
    for (int peer = 0; peer < weather_.ranks; ++peer)
      if (peer != who && rank(peer).lost(who) != 1)
        throw LawBroken("rank " + std::to_string(who) + " hung up, and rank " + std::to_string(peer) +
                        " was told so " + std::to_string(rank(peer).lost(who)) + " times");
  }

  static constexpr std::uint64_t kMostEvents = 5'000'000;
  Rng rng_;
  const Weather weather_;
  const std::size_t ring_bytes_;
  std::vector<Port> ports_;  // their wires outlive the connections
  std::vector<std::unique_ptr<ScheduledRank>> ranks_;
  int actions_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace

ScheduleResult run_stream_schedule(std::uint64_t seed) {
  ScheduleResult result;
  try {
    StreamSchedule(seed).run(result);
  } catch (const std::exception& error) {
    result.broken = error.what();
  }
  return result;
}

}  // namespace tacit::test
