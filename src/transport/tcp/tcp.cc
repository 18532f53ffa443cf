// SPDX-License-Identifier: MIT
#include "tacit/transport/tcp.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tacit/core/error.h"
#include "transport/departure.h"
#include "transport/fabric.h"
#include "transport/limits.h"
#include "transport/roster.h"
#include "transport/sent.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/housekeeper.h"
#include "transport/tcp/peer_links.h"
#include "transport/tcp/reactor.h"
#include "transport/tcp/rendezvous.h"
#include "transport/tcp/settings.h"
#include "transport/tcp/undeliverable.h"

namespace tacit {
namespace {

// How long a rank that ends waits for its last words to reach the others.
constexpr Seconds kFarewell{5};

class TcpFabric final : public Fabric, private Endpoint, private ConnectionOwner, private Household {
 public:
  explicit TcpFabric(TcpOptions options);
  ~TcpFabric() override;
  TcpFabric(const TcpFabric&) = delete;
  TcpFabric& operator=(const TcpFabric&) = delete;

  // Fabric
  Endpoint& endpoint() override { return *this; }
  void catch_up() override { housekeeper_.catch_up(); }
  void leave(const Departure& how) override;
  std::uint16_t door() const override { return door_ ? door_->port() : std::uint16_t{0}; }
  std::exception_ptr cause() override { return roster_.cause(rank()); }
  void interrupt() override;

 private:
  // Endpoint
  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }
  Clock& clock() override { return clock_; }
  const Ledger& ledger() const override { return ledger_; }
  void fail(const std::exception_ptr& error) override;
  void one_at_a_time(Tag::Lane lane) override { circles().book().declare(lane); }
  void survive() override {
    roster_.survive(rank());
    circles().book().retire();
  }
  bool survives() const override { return roster_.survives(rank()); }
  void tell_departures(Tag tag) override { roster_.tell_departures(rank(), tag); }
  std::vector<Loss> losses() const override { return roster_.losses(); }
  std::string why_lost(int peer) const override { return roster_.why(peer); }
  bool disturbed() const override { return roster_.anybody_failed(); }
  bool here(int peer) const override { return roster_.here(peer); }
  std::uint32_t entry(int peer) const override { return entries_[static_cast<std::size_t>(peer)].load(); }
  Request isend(int peer, Tag tag, ConstBytes data) override;
  Request irecv(int peer, Tag tag, Bytes into) override { return receive({peer, tag, into, false}); }
  Request iborrow(int peer, Tag tag) override { return receive({peer, tag, {}, true}); }
  void wait_any(std::span<Operation* const> any) override {
    reactor_.wait_until([&] { return any_ready(any); }, kNever);
  }

  // ConnectionOwner
  void wait(int peer, Tag tag, const std::atomic<bool>& done) override {
    wait_for(peer, tag, done, circles().book().counts(tag));
  }
  void wait_written(int peer, Tag tag, const std::atomic<bool>& done) override {
    wait_for(peer, tag, done, false);
  }
  bool ready_by(int peer, Tag tag, const std::atomic<bool>& done, Deadline deadline) override;
  bool ready(int peer, Tag tag, const std::atomic<bool>& done) const override {
    return done.load() || hopeless(what(peer, tag));
  }
  void wait_returned(int peer, const std::atomic<bool>& done) override;
  void between_reads(int peer, const std::function<void()>& fn) override;
  void on_control(int peer, const FrameHeader& header, ConstBytes payload) override;
  void on_message(int peer, Tag tag) override { circles().count_received(peer, tag); }
  void on_lost(int peer, const std::string& why) override;
  void on_progress() override { reactor_.wake(); }
  void on_lack(const std::string& what) override { on_failure(std::make_exception_ptr(Error(what))); }

  // Household
  Connection* connection(int peer) const override {
    Link* const link = links_.at(peer);
    return link == nullptr ? nullptr : &link->connection;
  }
  bool left() const override { return !here(rank()); }
  void give_up(const Loss& loss, std::uint32_t entry) override;
  void end(const std::string& why) override;
  void on_failure(const std::exception_ptr& error) override;

  // only_peer: nothing but an exchange of the peer's can end it.
  void wait_for(int peer, Tag tag, const std::atomic<bool>& done, bool only_peer);
  CircleWatch& circles() { return housekeeper_.circles(); }
  Request receive(const Want& want);
  MessageWait what(int peer, Tag tag) const { return {rank(), peer, tag}; }
  // Whether a wait has become pointless. Cheap: it is asked on every look.
  bool hopeless(const MessageWait& wait) const {
    return roster_.hopeless(wait) || housekeeper_.circles().closed();
  }
  void tell_departure(int peer, Tag tag);
  bool mark(int peer, const Departure& how);  // true the first time
  void say_goodbye(const Departure& how);
  void lose(int peer, const std::string& why);
  void report_lack(int peer, const std::string& why);
  void begin_among(const Met& met);
  bool may_come_back(int peer, std::uint32_t entry);
  void take_back(int peer, std::uint32_t entry, std::shared_ptr<Stream> stream);
  bool spin(const MessageWait& wait, const std::atomic<bool>& done);

  const TcpOptions options_;
  const int spins_;
  RealClock clock_;
  Ledger ledger_;
  Inbox inbox_;
  std::unique_ptr<TlsContext> tls_;
  Reactor reactor_;
  std::unique_ptr<Reception> door_;  // for ranks that come back; null where none may
  PeerLinks links_;
  std::vector<std::atomic<std::uint32_t>> entries_;  // by rank

  std::atomic<bool> lack_reported_{false};  // of shared memory

  Roster roster_;            // what this rank knows
  Housekeeper housekeeper_;  // last: it ends before what it uses
};

TcpFabric::TcpFabric(TcpOptions options)
    : options_(checked(std::move(options))),
      spins_(spins_for(options_.local_ranks)),
      ledger_(options_.size, options_.rank),
      inbox_(options_.rank, ledger_, *this),
      links_(options_, inbox_, ledger_),
      entries_(static_cast<std::size_t>(options_.size)),
      roster_(options_.size, [this](int gone, int, Tag tag) { tell_departure(gone, tag); }),
      housekeeper_(*this, reactor_, options_) {
  if (options_.key) tls_ = std::make_unique<TlsContext>(*options_.key, options_.job);
  Met met = meet(reactor_.io(), options_, tls_.get());
  housekeeper_.wake_up();
  begin_among(met);
  // In a world that survives, the peer has left an exchange for the same reason as we.
  const auto fail_alone = [this] {
    if (!survives()) fail(nullptr);
  };
  links_.open(*this, {fail_alone, [this](int peer, const std::string& why) { report_lack(peer, why); }},
              std::move(met.streams));
  door_ = std::move(met.door);
  if (door_)
    door_->take_back({options_.entry, [this](int peer) { return here(peer); },
                      [this](int peer, std::uint32_t entry) { return may_come_back(peer, entry); },
                      [this](int peer, std::uint32_t entry, std::shared_ptr<Stream> stream) {
                        take_back(peer, entry, std::move(stream));
                      }});
  housekeeper_.start();
}

TcpFabric::~TcpFabric() {
  housekeeper_.stop();
  inbox_.clear();  // offers answer through their connections
}

// --- ranks that come back

// This rank may be one of them: then all that it did not find are lost, and so has it been.
void TcpFabric::begin_among(const Met& met) {
  for (std::size_t i = 0; i < met.entries.size(); ++i) entries_[i].store(met.entries[i]);
  if (options_.entry == 0) return;
  roster_.begin_disturbed(rank());
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank() || met.streams[static_cast<std::size_t>(peer)]) continue;
    roster_.mark(peer, {true, "it was lost before rank " + std::to_string(rank()) + " came back", kAnyRank});
    housekeeper_.begin_without(peer);
  }
}

// Once nothing of its earlier life is left here: a wait for that one would take the new one's word for its.
bool TcpFabric::may_come_back(int peer, std::uint32_t entry) {
  if (entry <= this->entry(peer))
    throw Mismatch("rank " + std::to_string(peer) +
                   " has come back already; two processes were started for it");
  if (left() || here(peer)) return false;
  if (Connection* const before = connection(peer)) {
    before->shut_down();  // a machine that lost its power never said so
    before->between_reads([] {});
    if (before->reporting()) return false;
  }
  return inbox_.quiet(peer, roster_.wishes());
}

void TcpFabric::take_back(int peer, std::uint32_t entry, std::shared_ptr<Stream> stream) {
  inbox_.forget(peer);
  Link& link = links_.replace(peer, std::move(stream));
  // Who began to wait for an answer on the link before has counted itself before it looked for one: it is seen here, or
  // has seen the new one.
  if (!inbox_.quiet(peer, {})) return link.connection.shut_down();
  housekeeper_.on_return(peer, [&] {
    entries_[static_cast<std::size_t>(peer)].store(entry);
    roster_.come_back(peer);
  });
  link.start();
  reactor_.wake();
}

// --- what ranks do

Request TcpFabric::isend(int peer, Tag tag, ConstBytes data) {
  roster_.check(peer);
  if (peer != rank()) {
    circles().count_sent(peer, tag);
    circles().book().note_use(tag);
    Link* const link = links_.at(peer);
    if (link == nullptr) return std::make_unique<Undeliverable>(roster_, what(peer, tag), data);
    return link->offers.better(data.size()) ? link->offers.make(tag, data) : link->connection.send(tag, data);
  }
  ledger_.count_sent(peer, tag.lane(), data.size(), 0);
  const auto message = inbox_.announce(peer, tag, data.size(), 0);
  copy<std::byte>(data, message->landing);
  message->received = data.size();
  if (inbox_.complete(message) != nullptr) reactor_.wake();
  return std::make_unique<SentOperation>(peer, tag, data);
}

Request TcpFabric::receive(const Want& want) {
  if (want.peer != kAnyRank) roster_.check(want.peer);
  circles().book().note_use(want.tag);
  return inbox_.receive(want);
}

void TcpFabric::fail(const std::exception_ptr& error) {
  if (error ? !roster_.blame(rank(), error) : left()) return;
  Departure how = agent_failure(error);
  // Something is unwound and its error not known here.
  if (!error && circles().closed()) how.why = circles().what();
  if (!error) how = roster_.consequence(rank()).value_or(how);
  if (!error && roster_.interrupted()) how = {true, "it was interrupted"};
  say_goodbye(how);
}

void TcpFabric::interrupt() {
  roster_.interrupt();
  reactor_.wake();
}

void TcpFabric::say_goodbye(const Departure& how) {
  if (!mark(rank(), how)) return;
  links_.each([&](int, Connection& each) { each.send_control({FrameType::kGoodbye}, encode(how)); });
}

void TcpFabric::leave(const Departure& how) {
  say_goodbye(how);
  const Seconds limit = clock_.now() + kFarewell;
  // Nobody waits for those that are gone or silent.
  const auto all = [&](auto has) {
    bool yes = true;
    links_.each([&](int peer, Connection& each) {
      yes = yes && (!here(peer) || clock_.now() - each.last_heard() >= options_.lost_after || has(each));
    });
    return yes;
  };
  // A peer that has ended itself reads no more; the others shall have all that was sent before we close.
  reactor_.wait_until([&] { return all([](const Connection& c) { return c.idle(); }); }, limit);
  links_.each([](int, Connection& each) { each.finish_writing(); });
  while (!all([](Connection& c) { return c.all_arrived(); }) && clock_.now() < limit)
    reactor_.wait_until([] { return false; }, clock_.now() + Seconds(0.001));
}

// --- waiting

// Looks at the peer's socket for a while; true once there is nothing to wait for.
bool TcpFabric::spin(const MessageWait& wait, const std::atomic<bool>& done) {
  Connection* const peer = wait.peer == kAnyRank ? nullptr : connection(wait.peer);
  if (peer == nullptr) return done.load() || hopeless(wait);
  Connection& c = *peer;
  for (int i = 0; i < spins_; ++i) {
    c.advance(&done);
    if (done.load() || hopeless(wait)) return true;
    sched_yield();
  }
  return false;
}

void TcpFabric::wait_for(int peer, Tag tag, const std::atomic<bool>& done, bool only_peer) {
  if (done.load()) return;
  const Seconds since = clock_.now();
  const MessageWait wait = what(peer, tag);
  if (!spin(wait, done)) {
    // What its own agent does for it, that agent waits for.
    std::optional<WaitBook::Entry> entry;
    if (peer != rank()) entry.emplace(housekeeper_.waits(), peer, tag, since);
    std::optional<StuckBook::Entry> stuck;
    if (only_peer && peer != rank() && peer != kAnyRank)
      stuck.emplace(circles().book(), peer, tag, done, since);
    const auto over = [&] { return done.load() || hopeless(wait); };
    wait_within(options_.limits, clock_, wait,
                [&](Deadline deadline) { return reactor_.wait_until(over, deadline); });
  }
  if (done.load()) return;
  if (!roster_.interrupted() && circles().closed()) throw Mismatch(circles().what());
  roster_.give_up(wait, ", for " + std::to_string((clock_.now() - since).count()) + " s");
}

bool TcpFabric::ready_by(int peer, Tag tag, const std::atomic<bool>& done, Deadline deadline) {
  if (spin(what(peer, tag), done)) return true;
  return reactor_.wait_until([&] { return ready(peer, tag, done); }, deadline);
}

void TcpFabric::wait_returned(int peer, const std::atomic<bool>& done) {
  const auto over = [&] { return done.load() || roster_.parted(rank(), peer) || circles().closed(); };
  for (int i = 0; i < spins_ && !over(); ++i) {
    connection(peer)->advance(&done);
    sched_yield();
  }
  reactor_.wait_until(over, kNever);
}

void TcpFabric::between_reads(int peer, const std::function<void()>& fn) {
  Connection* const c = connection(peer);
  c == nullptr ? fn() : c->between_reads(fn);
}

// --- what peers do

bool TcpFabric::mark(int peer, const Departure& how) {
  if (!roster_.mark(peer, how)) return false;
  reactor_.wake();
  return true;
}

void TcpFabric::tell_departure(int peer, Tag tag) {
  if (inbox_.complete(inbox_.announce(peer, tag, 0, 0)) != nullptr) reactor_.wake();
}

void TcpFabric::on_control(int peer, const FrameHeader& header, ConstBytes payload) {
  switch (header.type) {
    case FrameType::kHeartbeat:
    case FrameType::kAccusation:
    case FrameType::kGivenUp:
    case FrameType::kCircle:
      housekeeper_.on_frame(peer, header, payload);
      break;
    case FrameType::kGoodbye: {
      const Departure departure = decode_departure(payload);
      // Where all end with the first loss, those that have ended are votes, too.
      std::optional<Loss> lost;
      if (departure.failed && !survives()) lost = Loss{departure.culprit, departure.why};
      mark(peer, departure);
      housekeeper_.on_left(peer, lost);
      break;
    }
    default:
      if (links_.at(peer)->offers.on_frame(header, payload)) reactor_.wake();
  }
}

// A rank that said goodbye closes its connection, too.
void TcpFabric::on_lost(int peer, const std::string& why) {
  if (here(peer) && housekeeper_.on_closed(peer)) lose(peer, why);
}

void TcpFabric::give_up(const Loss& loss, std::uint32_t entry) {
  if (this->entry(loss.rank) != entry) return;                   // it is back, as another one
  if (Connection* const c = connection(loss.rank)) c->retire();  // and not close: it reads why
  lose(loss.rank, loss.why);
}

void TcpFabric::lose(int peer, const std::string& why) {
  if (mark(peer, {true, why, kAnyRank}) && !left())
    options_.limits.report("rank " + std::to_string(rank()) + ": rank " + std::to_string(peer) +
                           " is lost: " + why);
}

// Once: what one pair lacks, the next one will lack too.
void TcpFabric::report_lack(int peer, const std::string& why) {
  if (lack_reported_.exchange(true)) return;
  options_.limits.report("rank " + std::to_string(rank()) + " shares no memory with rank " +
                         std::to_string(peer) + " (" + why +
                         "): their messages go through the socket, which is slower; raise that limit, or say "
                         "TACIT_SOCKETS_ONLY=1 where it is meant");
}

void TcpFabric::on_failure(const std::exception_ptr& error) {
  roster_.blame(rank(), error);
  say_goodbye(failure(error));
}

void TcpFabric::end(const std::string& why) { say_goodbye({true, why, rank()}); }

}  // namespace

std::unique_ptr<Fabric> open_tcp(TcpOptions options) {
  return std::make_unique<TcpFabric>(std::move(options));
}

}  // namespace tacit
