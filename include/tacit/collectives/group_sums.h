// SPDX-License-Identifier: MIT
// Sums in groups that do not wait for the slow: the wait-avoiding group all-reduce of WAGMA-SGD, arXiv:2005.00124.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tacit/collectives/board.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/channel.h"
#include "tacit/core/state.h"

namespace tacit {

// Sums are numbered 0, 1, 2, ... Whoever comes to one first activates it on all ranks. From then on a task of every rank runs
// it with what the rank gave last, however old that is, while its trainer computes. Sums run in their order and one at a
// time on a rank. A trainer that comes late to one takes the newest that its rank has run, so that what it gives next is not
// older than it must be.
//
// Activation  the first sends news of 32 bytes to the ranks 1, 2, 4, ... places further on; who hears it from 2^k places behind
//             tells those 2^(k+1) places and more ahead. So each rank is told, in log2 P rounds at most, and sends log2 P
//             messages at most, however many ranks came first at the same time.
// Patience    who comes first may wait a while before it activates a sum, so that those who come a moment later are in it too.
//             It tells a rank that is another one for every sum; when all have come, that one activates it at once.
// Losses      where the world goes on without a lost rank, groups are made of those that live, and from then on a rank reads
//             the newest vectors of its group off their boards. No rank needs to know what another one believes about who is
//             alive, which ranks learn at different times.
// Memory      beside the board's copies, a vector per sum that was run since the trainer last asked for one.
// Threads     the trainer's task.
// Lifetime    close() is collective and comes before the end; comm and tasks outlive it.
class GroupSums {
 public:
  // The places of [0, n) that sum number `number` adds, `place` among them, ascending; alike on all ranks.
  using Groups = std::function<std::vector<int>(int place, int n, std::int64_t number)>;

  // `service` and the number after it are taken. x is given to sums until the first next(). `patience` is the longest that a
  // rank waits for others before it activates a sum, as a share of the time between its own two sums.
  GroupSums(Comm& comm, Tasks& tasks, std::uint32_t service, FloatView x, Groups groups, double patience);
  ~GroupSums();
  GroupSums(const GroupSums&) = delete;
  GroupSums& operator=(const GroupSums&) = delete;

  struct Sum {
    std::int64_t number = -1;
    std::unique_ptr<Buffer> x{};
    int members = 0;
    bool in_time = false;        // what this rank gave for it is in it, and not something older
    std::exception_ptr error{};  // in place of a sum
  };
  // Gives x to the next sum. Where this rank has run that one or a newer one already, the newest is the result, at once;
  // otherwise activates it and waits for the rest of the group, whose trainers may be anywhere. The result is readable until
  // the next call.
  const Sum& next(FloatView x);
  // Replaces what the rank gave last, between two sums.
  void refresh(ConstFloatView x);

  void close();

  // Both are collective, between two sums.
  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  struct Order {
    enum class Kind { kRun, kBeginAt, kStop } kind;
    std::int64_t number;
  };
  // What this rank has told of the newest sum it heard of: the rounds from `told_from` on.
  struct News {
    std::int64_t number = -1;
    int told_from = 0;
  };

  std::vector<int> group(std::int64_t number) const;
  void take(Sum sum);
  void await(std::int64_t number);
  void post(int peer, std::uint32_t method, std::int64_t number);
  void hear(const Call& call);
  void tell(std::int64_t number, int first_round);
  void count_in(std::int64_t number);
  void run(Comm& behind);
  Sum sum(Comm& behind, std::int64_t number);
  void read_boards(std::int64_t number, FloatView x);
  std::unique_ptr<Buffer> blank();

  Comm& comm_;
  const std::uint32_t service_;
  const Groups groups_;
  const double patience_;
  Clock& clock_;
  const FloatView like_;
  std::int64_t number_ = 0;  // of the next sum
  Sum newest_;               // that the trainer has seen
  bool reading_ = false;     // a rank was lost: boards in place of sums
  Seconds returned_;         // when next() last did
  Seconds pace_{0};  // how long the trainer needs from one sum to the next, as a rule; 0: not known yet
  Board board_;      // what this rank gave last, with the number of its sum
  Channel<Order> orders_;
  Channel<Sum> sums_;
  Channel<std::unique_ptr<Buffer>> spare_;
  News news_;                         // the agent's
  std::map<std::int64_t, int> here_;  // likewise: how many have come to a sum that is not activated yet
  std::unique_ptr<Agent> agent_;      // after what it uses
  std::unique_ptr<Pending> running_;  // likewise; run()
};

}  // namespace tacit
