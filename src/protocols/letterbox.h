// SPDX-License-Identifier: MIT
// A mailbox that adds up the vectors peers send while a rank computes.
#pragma once

#include <memory>
#include <utility>

#include "tacit/collectives/calls.h"
#include "tacit/core/buffer.h"
#include "tacit/core/channel.h"
#include "tacit/core/kernels.h"

namespace tacit {

// Made on every rank alike. However slow its owner is, the box holds one vector.
//
// Cost      a letter is one vector and 32 bytes there, an empty message back.
// Lifetime  close() comes before the end and after the last letter of any rank (a barrier says so); calls and tasks
//           outlive it.
// Threads   any of the rank; take() and put_back() by one task.
class Letterbox {
 public:
  struct Letters {
    explicit Letters(FloatView of) : sum(of) {}
    Buffer sum;
    double weight = 0;  // the sum of theirs
    std::int64_t count = 0;
  };

  // Letters are as long as `of`.
  Letterbox(Calls& calls, Tasks& tasks, FloatView of) : of_(of), box_(tasks), spare_(tasks) {
    service_ = calls.serve([this](const Call& call, const std::unique_ptr<Answer>& answer) {
      add(floats_in(call.body), call.weight);
      answer->send({});
    });
  }

  // Returns when the letter is in the peer's box. Errors: as Service::call.
  void send(int peer, ConstFloatView x, double weight) {
    service_->call(peer, {.weight = weight, .body = bytes_of(x)}, {});
  }

  // What has come since the last time; null for nothing. Give it back with recycle(), its memory is used again.
  std::unique_ptr<Letters> take() { return box_.try_get().value_or(nullptr); }
  void recycle(std::unique_ptr<Letters> read) { spare_.put(std::move(read)); }
  // Puts back into this rank's own box what was taken and not used, or what a saved state held.
  void put_back(std::unique_ptr<Letters> unread) { box_.put(std::move(unread)); }
  std::unique_ptr<Letters> blank() {
    auto letters = spare_.try_get().value_or(nullptr);
    if (!letters) letters = std::make_unique<Letters>(of_);
    letters->weight = 0;
    letters->count = 0;
    return letters;
  }

  void close() { service_->stop(); }

 private:
  // On the agent's task. While it adds, the owner finds the box empty, and takes the sum the next time.
  void add(ConstFloatView x, double weight) {
    std::unique_ptr<Letters> letters = take();
    if (!letters) letters = blank();
    letters->count == 0 ? letters->sum.take(x) : kernels::add(x, letters->sum.view());
    letters->weight += weight;
    ++letters->count;
    box_.put(std::move(letters));
  }

  const FloatView of_;
  Channel<std::unique_ptr<Letters>> box_;    // one at most
  Channel<std::unique_ptr<Letters>> spare_;  // memory to use again
  std::unique_ptr<Service> service_;         // last: it stops before what it uses goes away
};

}  // namespace tacit
