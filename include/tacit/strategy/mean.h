// SPDX-License-Identifier: MIT
// A mean over ranks, as a strategy asks for it. Whether it is plain, compressed or made by servers is not the
// strategy's business: who runs it says so (Worker::make_mean).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tacit/collectives/comm.h"
#include "tacit/compress/compression.h"
#include "tacit/core/kernels.h"
#include "tacit/core/state.h"
#include "tacit/core/views.h"

namespace tacit {

class Worker;

// What a strategy sends, as far as compressors care.
enum class Sends {
  kNotCompressed,  // it takes no compressor
  kWeights,        // weights themselves: their means are exact, as what is left out would be taken for zero
  kGradients,      // a mean of gradients, which the learning rate multiplies afterwards
  kPushes,         // gradients to servers that keep the weights; what comes back is exact
  kDifferences,    // a mean of how far weights have moved
  kBothWays,       // updates to servers and back, whose errors both sides keep
};

// Who speaks in one step, on one side.
struct Speakers {
  std::vector<bool> turns;  // by rank: who may speak, the same on every rank
  // Decides for this rank, from the norms of all it has to send and of what is new. Unset: it always speaks.
  std::function<bool(double all, double fresh)> chooses;
};
using SpeakersAt = std::function<Speakers(std::int64_t t)>;

// Where ranks and the servers of their shards may be silent: what is not said is kept and said later. Each is asked
// once per mean, on every rank alike.
struct Silence {
  SpeakersAt workers;
  SpeakersAt servers;
  std::optional<Compression> up{};    // what workers send, in place of the run's compressor
  std::optional<Compression> down{};  // what servers send; as up if not said
  std::string otherwise{};            // the compressor where neither the run nor `up` names one
};

struct MeanOptions {
  Sends sends = Sends::kGradients;
  int servers = 0;                   // so many ranks average, as parameter servers do; 0: all do
  std::optional<Silence> silence{};  // nobody is silent where there is none
};

// Collective: all ranks use it alike, one exchange at a time. Made in Strategy::start, one for each vector that a
// strategy averages.
//
// Bits      the result is the same on every rank, in every world.
// Threads   the trainer's task.
// Errors    Diverged where x is not finite and must be compressed: nothing was sent then, and what is remembered is as
//           it was. Otherwise what Comm throws.
// Lifetime  finish() comes before the end.
class Mean {
 public:
  virtual ~Mean() = default;
  // Whether all of x arrives at once. A mean that is not exact is told differences and no weights.
  virtual bool exact() const { return true; }
  // x <- the mean over ranks.
  virtual void mean(Worker& w, FloatView x) = 0;
  // The same of weights that have moved from `base`, which is equal on every rank: a mean that is not exact gets how far.
  void mean_from(Worker& w, ConstFloatView base, FloatView x) {
    if (exact()) return mean(w, x);
    kernels::subtract(base, x);
    mean(w, x);
    kernels::add(base, x);
  }
  // The same behind the next gradient: x is the exchange's until wait(). What it needs of the worker, its step, its
  // rate and its draws, is read now.
  virtual std::unique_ptr<Pending> start(Worker& w, FloatView x) = 0;
  // This part of x is ready: its exchange may begin. Parts come in the same order on every rank and are the exchange's
  // from now on; the mean() or start() of the same x completes the rest, and comes before anything else is started in the
  // background, by another Mean or by Comm::start.
  virtual void begin(Worker& w, Slice part, FloatView x) = 0;
  // x += factor times what this rank was given and has not sent, in the place of x where it was.
  virtual void add_unsent(float /*factor*/, FloatView /*x*/) const {}  // unless overridden, all is sent
  // Ends servers.
  virtual void finish(Worker& w) = 0;
  // Residuals, momentum: what the next mean depends on. While nothing is under way.
  virtual void save(Worker& w, StateWriter& state) = 0;
  virtual void load(Worker& w, StateReader& state) = 0;
};

}  // namespace tacit
