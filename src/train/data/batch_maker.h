// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "tacit/train/samples.h"

namespace tacit {

// Makes batches sample by sample on threads of its own, those that are expected before they are asked for.
//
// Whoever asks for a batch makes samples of it too, until none is left to begin, and then waits for those that threads
// have begun. Threads wait for nobody, so that a batch comes out where the system gives no threads, and where the one
// that asks is a simulated rank, whose wait stops all others.
//
// Threads  any may ask, several at once.
// Errors   rethrows what `fill` threw.
class BatchMaker {
 public:
  // Makes the sample wanted.indices[slot] in that slot of a batch. Called by several threads, each for another slot.
  using Fill = std::function<void(const Wanted& wanted, std::size_t slot, Batch& batch)>;
  BatchMaker(ImageShape shape, int threads, Fill fill);
  ~BatchMaker();
  BatchMaker(const BatchMaker&) = delete;
  BatchMaker& operator=(const BatchMaker&) = delete;

  void gather(const Wanted& wanted, Batch& out);
  void expect(const Wanted& wanted);

 private:
  // A batch while it is made. Owned by the queue and by each thread that makes a sample of it; all but the slots of the
  // batch is guarded by mutex_.
  struct Order {
    std::vector<std::uint32_t> indices;
    std::int64_t epoch = 0;
    std::uint64_t seed = 0;
    Batch batch;
    std::size_t begun = 0;  // slots
    std::size_t done = 0;
    bool claimed = false;    // somebody waits for it
    std::uint64_t born = 0;  // after so many batches
    std::exception_ptr error{};

    Wanted wanted() const { return {indices, epoch, seed}; }
    bool has_more() const { return !error && begun < indices.size(); }
  };
  using OrderRef = std::shared_ptr<Order>;

  OrderRef make_order(const Wanted& wanted);
  OrderRef claim(const Wanted& wanted);
  OrderRef find(const Wanted& wanted) const TACIT_REQUIRES(mutex_);
  bool has_room_for(std::size_t samples) const TACIT_REQUIRES(mutex_);
  void start_threads() TACIT_REQUIRES(mutex_);
  OrderRef next_order();
  std::optional<std::size_t> begin_slot(Order& order);
  // Whether there was one to make.
  bool make_slot(Order& order);
  void run();

  const ImageShape shape_;
  const std::size_t wanted_threads_;
  const Fill fill_;
  Mutex mutex_;
  std::condition_variable_any work_;
  std::condition_variable_any done_;
  bool stopping_ TACIT_GUARDED_BY(mutex_) = false;
  std::uint64_t gathered_ TACIT_GUARDED_BY(mutex_) = 0;
  std::list<OrderRef> orders_ TACIT_GUARDED_BY(mutex_);
  std::vector<Batch> spare_ TACIT_GUARDED_BY(mutex_);  // whose memory the next ones take
  bool started_ TACIT_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace tacit
