// SPDX-License-Identifier: MIT
#include <utility>

#include "means/mean_route.h"

namespace tacit {
namespace {

class SketchRoute final : public MeanRoute {
 public:
  SketchRoute(const Compression& how, std::vector<Slice> pieces, std::span<const std::size_t> rows)
      : effort_(how.maker.effort), pieces_(std::move(pieces)) {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      sketches_.push_back(how.maker.sketch({pieces_[i].count, rows.empty() ? 0 : rows[i]}));
  }

  void mean(Collectives& comm, const MeanStep& step, bool /*speak: nobody is silent*/, Feedback& memory,
            FloatView result) override {
    agree_on_seed(comm, step.rng);
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      sketches_[i]->begin(Rng(seed_, static_cast<int>(i), step.t, Rng::Use::kRounding));
    for (int round = 0; round < sketches_[0]->rounds(); ++round) {
      const FloatView sums = room(round, result);
      each_sketch(round, sums, [&](LinearSketch& s, Slice at, FloatView own) {
        s.sketch(round, part(memory.pending(), at), own);
      });
      comm.mean(sums);
      each_sketch(round, sums, [&](LinearSketch& s, Slice, FloatView own) { s.learn(round, own); });
    }
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      sketches_[i]->decode_add(1, part(result, pieces_[i]));
      memory.sent(pieces_[i], *sketches_[i]);
    }
    spend_copies(comm, 2 * effort_.decode, result.size());  // for the result and for the memory
  }

  void save(StateWriter& state) const override {
    state.write("compress.seed", seed_);
    for (const auto& sketch : sketches_) sketch->save(state);
  }
  void load(StateReader& state) override {
    seed_ = state.number("compress.seed");
    for (const auto& sketch : sketches_) sketch->load(state);
  }

 private:
  void agree_on_seed(Collectives& comm, Rng rng) {
    if (seed_ != 0) return;
    seed_ = rng.next() | 1U;
    comm.broadcast(std::as_writable_bytes(std::span(&seed_, 1)), 0);
  }
  // For the sketches of one round.
  FloatView room(int round, ConstFloatView x) {
    std::size_t floats = 0;
    for (const auto& sketch : sketches_) floats += sketch->floats(round);
    return sums_.room(floats, x);
  }
  template <class F>
  void each_sketch(int round, FloatView sums, const F& f) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::size_t count = sketches_[i]->floats(round);
      f(*sketches_[i], pieces_[i], sums.subspan(at, count));
      at += count;
    }
  }

  const Effort effort_;
  const std::vector<Slice> pieces_;
  std::vector<std::unique_ptr<LinearSketch>> sketches_;  // one per piece
  std::uint64_t seed_ = 0;                               // rank 0's; 0: not known yet
  Buffer sums_;
};

}  // namespace

std::unique_ptr<MeanRoute> make_sketch_route(const Compression& how, std::vector<Slice> pieces,
                                             std::span<const std::size_t> rows) {
  return std::make_unique<SketchRoute>(how, std::move(pieces), rows);
}

}  // namespace tacit
