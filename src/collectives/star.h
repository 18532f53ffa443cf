// SPDX-License-Identifier: MIT
// The agent behind collectives that survive losses. Every rank runs one, because any rank may become the head.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "collectives/agent.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// What a collective does with the contributions of those that live.
struct StarOp {
  enum class Kind : std::uint8_t { kSum, kMean, kFrom, kSlices } kind;
  int root = 0;  // of kFrom: whose contribution all get; the lowest rank's, where it is gone

  std::uint32_t method() const {
    return static_cast<std::uint32_t>(kind) << 24U | static_cast<std::uint32_t>(root);
  }
  static StarOp of(std::uint32_t method) {
    return {static_cast<Kind>(method >> 24U), static_cast<int>(method & 0xFFFFFFU)};
  }
};

// Threads   the trainer's task; what begins with on_ runs on the agent's.
// Lifetime  endpoint and tasks outlive it.
class Star {
 public:
  static constexpr std::uint32_t kService = 0xFFFFFF00;  // beside those that are numbered by construction

  Star(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane);

  // One collective, by its number, which is the same on all ranks. Throws PeerLost where this rank itself is lost to
  // the others.
  void join(std::int64_t number, StarOp op, ConstBytes x, Bytes result);
  // This rank has the result of a collective: peers may ask for it until the next one is done.
  void keep(std::int64_t number, ConstBytes result);

  // Whether a rank that is here takes part: one that has come back does so once it has said that it does.
  bool takes_part(int rank) const;
  // All that take part count on a rank that is back, from this collective on. Returns when they know; false where one of
  // them has not met it.
  struct Admission {
    int rank = 0;
    std::uint32_t entry = 0;
    std::int64_t from = 0;
  };
  bool admit(const Admission& whom);
  // This rank is back, has been admitted, and is ready to be asked.
  void enter(std::int64_t number);

 private:
  struct Join {
    std::int64_t number;
    StarOp op;
    std::vector<std::byte> x;
    std::unique_ptr<Answer> answer;
  };
  using Joins = std::map<int, Join>;  // by rank
  // A result on its way to a head that asked.
  struct Letter {
    std::vector<std::byte> result;
    std::unique_ptr<Caller::Sending> sending{};
  };

  void on_call(const Call& call, std::unique_ptr<Answer> answer);
  void on_ask(int head, std::int64_t number);
  void on_result(std::int64_t number, ConstBytes result);
  void on_departure(int rank);
  // Says it to all that take part; false where one of them has not met the rank.
  bool tell(std::uint32_t method, const Admission& whom);
  void on_admission(const Call& call, Answer& answer);
  void count_on(const Admission& whom, bool entered);
  // Whether collectives are with it, from some number on.
  bool counts(int rank) const;
  // Those that a collective is among.
  std::vector<int> members(std::int64_t number) const;
  // The one of them that has been here longest, so that nobody who comes back becomes it while another one is.
  int head(std::int64_t number) const;
  // Answers whom it can; asks those that are missing, once.
  void settle();
  std::vector<std::byte> combine() const;

  Endpoint& endpoint_;
  Caller caller_;
  const std::unique_ptr<Monitor> monitor_;
  // From which collective on a rank takes part, of the life that began with this entry: that of another one does not.
  struct Part {
    std::uint32_t entry = 0;
    std::int64_t from = 0;
    bool entered = true;  // it can be asked for other things too
  };
  std::vector<Part> parts_;  // by rank; this and the next three are guarded by monitor_
  std::int64_t kept_number_ = -1;
  std::vector<std::byte> kept_;  // the result of that collective
  // Heads that asked for a result which this rank may still get. Several: who is head is each rank's own opinion.
  std::map<std::int64_t, std::set<int>> asked_;
  Joins joins_;                              // the agent's, as the next
  std::map<int, std::int64_t> asked_by_us_;  // who was asked for which
  std::list<Letter> letters_;                // the agent's, too
  std::unique_ptr<Agent> agent_;             // last: it stops before what it uses goes away
};

}  // namespace tacit
