// SPDX-License-Identifier: MIT
#include "tacit/train/replica_worker.h"

#include <string>

#include "means/make_mean.h"
#include "means/momentum_place.h"
#include "means/push_codec.h"
#include "tacit/core/error.h"

namespace tacit {

void ReplicaWorker::set_compress(const std::string& spec) {
  compress_.reset();
  placed_.reset();
  if (!spec.empty()) compress_ = Compression::parse(spec);
}

std::optional<Compression> ReplicaWorker::with_momentum(Sends sends) {
  std::optional<Compression> how = compress_;
  MomentumPlace place = MomentumPlace::kInside;
  const double in_front =
      place_momentum([&](const SgdSettings& asked) { return place = momentum_place(sends, how, asked); });
  TACIT_CHECK(!placed_ || *placed_ == place,
              "a strategy has two means that want the momentum of one optimiser in different places");
  placed_ = place;
  if (in_front > 0) how->momentum = static_cast<float>(in_front);
  return how;
}

std::unique_ptr<Mean> ReplicaWorker::make_mean(const MeanOptions& options) {
  if (options.sends == Sends::kWeights) return make_plain_mean();
  return tacit::make_mean(*this, options, with_momentum(options.sends));
}

std::vector<std::unique_ptr<PushCodec>> ReplicaWorker::make_push_codecs(int servers) {
  return tacit::make_push_codecs(*this, servers, with_momentum(Sends::kPushes));
}

void ReplicaWorker::compute_again(std::optional<std::int64_t>) {
  throw InvalidConfig(
      "the strategy wants a gradient at another point or of other samples, and this training loop computes "
      "one "
      "gradient per step; use a strategy that needs no more");
}

void ReplicaWorker::gradient_at(ConstFloatView x) {
  const TrainingPoint kept(*this);
  if (!params().is(x)) copy(x, params());
  compute_again(std::nullopt);
  process_.spend_compute(t_);
}

void ReplicaWorker::gradient_of(std::int64_t piece) {
  TACIT_CHECK(piece >= 0 && piece < pieces_, "there are " + std::to_string(pieces_) +
                                                 " pieces (Strategy::pieces), and piece " +
                                                 std::to_string(piece) + " was asked for");
  compute_again(piece);
  // Of a global batch, of which a usual gradient takes one share per rank.
  process_.spend_compute(t_, static_cast<double>(size()) / pieces_);
}

TrainingPoint::TrainingPoint(ReplicaWorker& worker) : worker_(worker) {
  params_.assign(worker.params());
  for (const FloatView b : worker.buffers()) buffers_.emplace_back(b);
}

TrainingPoint::~TrainingPoint() {
  params_.give(worker_.params());
  const std::span<const FloatView> now = worker_.buffers();
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (now[i].is(buffers_[i].place)) buffers_[i].values.give(now[i]);
}

EvaluationPoint::EvaluationPoint(ReplicaWorker& worker, Strategy& strategy)
    : training_(worker), worker_(worker) {
  const Seconds start = worker.process_.tasks().clock().now();
  Buffer point(worker.params());
  {
    struct Control {  // also where what follows throws
      explicit Control(bool& on) : on_(on) { on_ = true; }
      ~Control() { on_ = false; }
      Control(const Control&) = delete;
      Control& operator=(const Control&) = delete;
      bool& on_;
    } const control(worker.control_);
    strategy.model(worker, point.view());
    worker.average_buffers();
  }
  point.give(worker.params());
  worker.evaluating_since_ = start;
}

EvaluationPoint::~EvaluationPoint() {
  worker_.evaluated_ = worker_.evaluated();
  worker_.evaluating_since_.reset();
}

}  // namespace tacit
