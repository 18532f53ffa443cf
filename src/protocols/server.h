// SPDX-License-Identifier: MIT
// The classic parameter server: it keeps the weights and moves them by the mean of what workers push.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tacit/core/state.h"
#include "tacit/strategy/worker.h"

namespace tacit {

// One rank's part in such servers, which are shards of the weights, moved by optimisers like the worker's. When all ranks
// have pushed step t, their mean gradient moves the weights; a pull of step t answers with the weights after that and
// before step t+1, so that a rank asks for them before it pushes the next step.
//
// A gradient that leaves in buckets has shards of each, which know nothing of the others. Pushes and pulls are background
// exchanges, and all begin at the worker's step: a push ends by the next one of the same bucket at the latest.
//
// Bits      do not depend on the buckets where nothing is compressed and the optimiser works element by element.
// Lifetime  close() is collective and comes before the end; the worker must outlive this.
// Threads   the trainer's task.
// Errors    Diverged where the gradient must be compressed and is not finite. What an exchange throws comes from wait(),
//           or from the next push of the same bucket.
class Servers {
 public:
  // The shards begin with w.params(), which is the same on every rank. Throws InvalidConfig, which names the optimiser,
  // where that has no form for flat arrays. Collective.
  Servers(Worker& w, int servers);
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  // How far a gradient that stays the same moves the weights per step in the end, in units of the learning rate.
  double gain() const { return gain_; }
  // Pushes the gradient, in the form that the run wants, of which it takes a copy; it moves weights by w.lr() times
  // itself. Where there is an `out`, the weights after this step are pulled to there right behind it.
  void push(Worker& w, ConstFloatView g, std::optional<FloatView> out = std::nullopt);
  // The same of this part alone, one of w.buckets(); the push() of the same gradient is then that of the rest. Nothing
  // where what is compressed together is more than a bucket.
  void begin(Worker& w, Slice part, ConstFloatView g, std::optional<FloatView> out = std::nullopt);
  // Pulls the weights after the step that was pushed last.
  void pull(Worker& w, FloatView out);
  // Until what was pulled is there; until nothing is under way.
  void wait_for_pull();
  void wait();

  void read(Collectives& over, std::int64_t t, FloatView out) const;
  void close();

  // While nothing is under way; t is the last step that was pushed.
  void save(Worker& w, std::int64_t t, StateWriter& state);
  void load(Worker& w, StateReader& state);

 private:
  struct Piece;
  static void start(Worker& w, Piece& piece, ConstFloatView g, std::optional<FloatView> out);

  double gain_ = 1;  // of the optimiser, and of a momentum in front of the compressor
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::unique_ptr<Pending> pull_;  // last: it ends before what it uses
};

}  // namespace tacit
