// SPDX-License-Identifier: MIT
// DC-S3GD -- A. Rigazzi, "DC-S3GD: Delay-Compensated Stale-Synchronous SGD for Large-Scale Decentralized Neural Network
// Training", Deep Learning on Supercomputers (SC19), arXiv:1911.02516.
//
// Idea        ranks average updates behind the next gradient, which a first-order correction moves to the mean model.
// Symbols     w_i = w.params()   g_i = w.gradient()   P = w.size()   mean_ = the mean of all w_i before the last update
//             dw_i = dw_   DW/P = average_   D_i = dw_ after move_mean   lambda0 = lambda_
// Cost        one all-reduce of d floats per step, behind the next gradient.
// Reduces to  the inner optimiser alone for P = 1; lambda=0 averages updates one step late and corrects nothing.
// Compressed  updates dw_i are, which have eta in them; weights are exchanged exactly.
// Differs     dw_i is whatever the inner optimiser did, from the mean model on; the mean moves by DW/P, of equal bits
//             on all ranks, where the paper's w_i + D_i drift apart; every resync-th exchange carries w_i, at one cost.
#include <cmath>
#include <memory>
#include <string>

#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

class DcS3gd final : public Strategy {
 public:
  DcS3gd(double lambda, bool per_tensor, std::int64_t resync)
      : lambda_(lambda), per_tensor_(per_tensor), resync_(resync) {}

  void start(Worker& w) override {
    Strategy::start(w);
    for (Buffer* each : {&mean_, &dw_, &average_}) each->assign(w.params());
    updates_ = w.make_mean({.sends = Sends::kDifferences});
    weights_ = w.make_mean({.sends = Sends::kWeights});
  }

  void step(Worker& w) override {
    if (sent_ != Sent::kNothing) {
      collect();
      move_mean(w);
      correct(w.gradient(), w.tensors());
    }
    mean_.give(w.params());
    w.apply(w.gradient());
    kernels::difference(w.params(), mean_.view(), dw_.view());  // w_i = mean + dw_i
    sent_ = resync_ > 0 && (w.t() + 1) % resync_ == 0 ? Sent::kWeights : Sent::kUpdates;
    average_.take(sent_ == Sent::kWeights ? w.params() : dw_.view());
    pending_ = (sent_ == Sent::kWeights ? weights_ : updates_)->start(w, average_.view());
  }

  void settle(Worker&) override { collect(); }
  // The mean of all w_i.
  void model(Worker& w, FloatView out) override {
    if (sent_ == Sent::kNothing) return copy(w.params(), out);
    collect();
    average_.give(out);
    if (sent_ == Sent::kUpdates) kernels::add(mean_.view(), out);
  }

  void finish(Worker& w) override {
    if (sent_ == Sent::kNothing) return;
    model(w, w.params());
    sent_ = Sent::kNothing;
  }

  void save(Worker& w, StateWriter& state) override {
    collect();
    state.write("dc_s3gd.sent", static_cast<std::uint64_t>(sent_));
    for (Buffer* each : {&mean_, &dw_, &average_}) state.write("dc_s3gd.vectors", each->view());
    updates_->save(w, state);
  }
  void load(Worker& w, StateReader& state) override {
    const std::uint64_t sent = state.number("dc_s3gd.sent");
    if (sent > 2) throw InvalidConfig("saved state, entry 'dc_s3gd.sent': it is damaged; use another");
    sent_ = static_cast<Sent>(sent);
    for (Buffer* each : {&mean_, &dw_, &average_}) state.read("dc_s3gd.vectors", each->view());
    updates_->load(w, state);
  }

 private:
  enum class Sent : std::uint64_t { kNothing, kUpdates, kWeights };

  // Afterwards average_ has arrived. All ranks come here at the same step.
  void collect() {
    if (pending_) pending_->wait();
    pending_.reset();
  }

  // Afterwards mean_ has the last update of every rank in it, and dw_ is D.
  void move_mean(Worker& w) {
    if (sent_ == Sent::kWeights) {
      kernels::difference(average_.view(), w.params(), dw_.view());
      mean_.take(average_.view());
    } else {
      kernels::difference(average_.view(), dw_.view(), dw_.view());  // D = DW/P - dw
      kernels::add(average_.view(), mean_.view());
    }
  }

  // g~ = g + lam g (.) g (.) D with lam = lambda0 |g| / |g (.) g (.) D|, over all weights or tensor by tensor.
  void correct(FloatView g, std::span<const Slice> tensors) {
    const Slice whole{0, g.size()};
    for (const Slice& each : per_tensor_ ? tensors : std::span(&whole, 1))
      if (lambda_ > 0) correct(part(g, each), part(dw_.view(), each));
  }
  void correct(FloatView g, FloatView d) const {
    kernels::multiply(g, d);
    kernels::multiply(g, d);
    const float largest = kernels::max_abs(d);
    if (!std::isnormal(largest)) return;  // D = 0 or g = 0: lam would be 0/0
    kernels::scale(1 / largest, d);       // its direction is all that counts, and its square must not vanish
    kernels::axpy(static_cast<float>(lambda_ * kernels::norm2(g) / kernels::norm2(d)), d, g);
  }

  const double lambda_;
  const bool per_tensor_;
  const std::int64_t resync_;   // 0: never
  Sent sent_ = Sent::kNothing;  // what the last exchange carries
  Buffer mean_;
  Buffer dw_;
  Buffer average_;  // the result of the last exchange, whose it is while that is under way
  std::unique_ptr<Mean> updates_;
  std::unique_ptr<Mean> weights_;
  std::unique_ptr<Pending> pending_;  // last: it ends before what it uses
};

std::unique_ptr<Strategy> make(OptionReader& options, int /*ranks*/) {
  const std::string scopes[] = {"model", "tensor"};
  const auto per = options.choice("per", "model", scopes, {"whose lengths count"});
  const auto lambda = options.number("lambda", 0.2, 0, 10, {"relative length of the correction"});
  return std::make_unique<DcS3gd>(
      lambda, per == "tensor", options.integer("resync", 100, 0, kMany, {"steps between means of weights"}));
}

}  // namespace

StrategyInfo dc_s3gd_info() {
  return {.name = "dc_s3gd",
          .summary = "updates averaged behind the next gradient",
          .paper = "arXiv:1911.02516",
          .example = "dc_s3gd:lambda=0.2",
          .make = make,
          .sends = Sends::kDifferences,
          .keeps_weights = true};
}

}  // namespace tacit
