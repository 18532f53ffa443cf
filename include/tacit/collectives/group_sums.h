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
#include "tacit/core/buffer.h"
#include "tacit/core/channel.h"
#include "tacit/core/state.h"

namespace tacit {

class TaskTally;  // transport/wait_tally.h

// What a rank that comes late to a sum does with its own vector x, of which something older is in the sum.
enum class Late {
  kAdd,   // what x has moved by since the last sum, on top of the mean: x <- sum/S + (x - before)
  kMean,  // x as one more member: x <- (sum + x) / (S + 1), the rule of the paper
};

// Sums are numbered 0, 1, 2, ... Whoever comes to one first activates it on all ranks. From then on a task of every
// rank runs it, while its trainer computes, with what the rank has there: what its trainer gave last or, with
// Late::kAdd, the mean of that and of the sums that were run since. Sums run in their order and one at a time on a
// rank. A trainer that comes late to one takes the newest that its rank has run, once; where it has had that one
// already, x stays as it is.
//
// Conserved   with Late::kAdd the sum over all ranks of what they have there: a sum replaces it by the group's mean,
//             and a trainer adds to it what it moved x by. So no move of any rank is lost or counted twice, however
//             late.
// Activation  the first sends news of 32 bytes to the ranks 1, 2, 4, ... places further on; who hears it from 2^k
//             places behind tells those 2^(k+1) places and more ahead. So each rank is told, in log2 P rounds at most,
//             and sends log2 P messages at most, however many ranks came first at the same time.
// Patience    who comes first may wait a while before it activates a sum, so that those who come a moment later are in
//             it too. It tells a rank that is another one for every sum; when all have come, that one activates it at
//             once.
// Losses      where the world goes on without a lost rank, groups are made of those that live, and from then on a rank
//             reads the newest vectors of its group off their boards. No rank needs to know what another one believes
//             about who is alive, which ranks learn at different times.
// Memory      beside the board's copies, three vectors at most.
// Threads     the trainer's task.
// Lifetime    close() is collective and comes before the end; comm and tasks outlive it.
class GroupSums {
 public:
  // The places of [0, n) that sum number `number` adds, `place` among them, ascending; alike on all ranks.
  using Groups = std::function<std::vector<int>(int place, int n, std::int64_t number)>;

  struct Manner {
    Late late = Late::kAdd;
    double patience =
        0;  // how long a rank waits at most before it activates a sum, as a share of the time between two sums
  };

  // x is given to sums until the first next().
  GroupSums(Comm& comm, Tasks& tasks, FloatView x, Groups groups, Manner manner);
  ~GroupSums();
  GroupSums(const GroupSums&) = delete;
  GroupSums& operator=(const GroupSums&) = delete;

  // Gives x to the next sum and leaves the mean of its group in x. Where this rank has run that sum or a newer one
  // already, by the rule for the late and as soon as its task has run what was activated so far; otherwise activates it and waits for the rest of the group, whose
  // trainers may be anywhere.
  void next(FloatView x);
  // What the rank has there becomes x, between two sums.
  void refresh(FloatView x);

  void close();

  // Both are collective, between two sums.
  void save(StateWriter& state) const;
  void load(StateReader& state);

 private:
  // What the task is asked for, by the trainer and by the agent.
  struct Order {
    enum class Kind { kRun, kGive, kReplace, kBeginAt, kStop } kind;
    std::int64_t number = 0;
    FloatView x{};  // kGive, kReplace: the trainer's, who waits for the reply
  };
  // What it tells the trainer.
  struct Reply {
    bool over = false;  // x is what it shall be; otherwise the sum that it is for has not been run yet
    std::exception_ptr error{};  // in place of an answer
  };
  // What this rank has told of the newest sum it heard of: the rounds from `told_from` on.
  struct News {
    std::int64_t number = -1;
    int told_from = 0;
  };

  std::vector<int> group(std::int64_t number) const;
  Reply await(FloatView x, std::int64_t number);
  bool settled(const Reply& reply);
  void post(int peer, std::uint32_t method, std::int64_t number);
  void hear(const Call& call);
  void tell(std::int64_t number, int first_round);
  void count_in(std::int64_t number);
  void run(Collectives& beside);
  void obey(Collectives& beside, const Order& order);
  void take_in(const Order& given);
  void replace(FloatView x);
  void add_move(FloatView x);
  void sum(Collectives& beside);
  void read_boards(std::int64_t number, FloatView x);

  Comm& comm_;
  const Groups groups_;
  const Manner manner_;
  Clock& clock_;
  std::int64_t number_ = 0;  // of the next sum
  bool reading_ = false;     // a rank was lost: boards in place of sums
  Seconds returned_;         // when next() last did
  Seconds pace_{0};  // how long the trainer needs from one sum to the next, as a rule; 0: not known yet
  Board board_;      // what the trainer gave last
  Channel<Order> orders_;
  Channel<Reply> replies_;
  const std::shared_ptr<TaskTally> tally_;  // of the background task

  // The background task's. The trainer looks at them between two sums, when it has had a reply and the task is idle.
  std::int64_t running_number_ = 0;  // the next sum to run
  std::optional<Order> waiting_;     // the trainer waits for this sum
  bool fresh_ = false;               // a sum was run since the trainer last came
  int members_ = 0;                  // of that sum
  Buffer own_;                       // what this rank has there: its part of the next sum
  Buffer kept_;  // where fresh_: kMean: the newest sum; kAdd: own_ when the trainer last left
  Buffer work_;  // the sum that is run

  News news_;                         // the agent's
  std::map<std::int64_t, int> here_;  // likewise: how many have come to a sum that is not activated yet
  std::unique_ptr<Service> service_;  // after what it uses
  std::unique_ptr<Comm> beside_;      // for the task
  std::unique_ptr<Pending> running_;  // likewise; run()
};

}  // namespace tacit
