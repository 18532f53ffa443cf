// SPDX-License-Identifier: MIT
#include "tacit/torch/replicated.h"

#include <exception>
#include <iostream>

#include "adapters/torch/replica.h"
#include "tacit/core/error.h"

namespace tacit::torch {

// A Replica, and whether it came to its end.
class Replicated::Impl {
 public:
  Impl(Process& process, const Replica::Given& given) : rank_(process.rank()), replica_(process, given) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    if (replica_.finished() || failed_ || std::uncaught_exceptions() > exceptions_) return;
    std::cerr
        << "tacit: rank " + std::to_string(rank_) +
               ": Replicated ended without finish(): its last exchanges were not waited for, and the ranks' "
               "weights may differ; call finish() on every rank after the last step\n";
  }

  // Whoever was thrown an error knows that training did not come to its end.
  template <class Call>
  auto run(const Call& call) {
    try {
      return call(replica_);
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

 private:
  const int rank_;
  const int exceptions_ = std::uncaught_exceptions();
  bool failed_ = false;
  Replica replica_;
};

namespace {

std::int64_t checked(const char* call, std::int64_t samples) {
  if (samples >= 0) return samples;
  throw InvalidConfig(std::string(call) + " was given " + std::to_string(samples) +
                      " samples; a batch has 0 or more");
}

}  // namespace

Replicated::Replicated(Process& process, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer,
                       std::string_view strategy)
    : Replicated(process, module, optimizer, strategy, Options{}) {}
Replicated::Replicated(Process& process, ::torch::nn::Module& module, ::torch::optim::Optimizer& optimizer,
                       std::string_view strategy, const Options& options)
    : impl_(std::make_unique<Impl>(process,
                                   Replica::Given{module, optimizer, std::string(strategy), options})) {}
Replicated::~Replicated() = default;

void Replicated::step() {
  impl_->run([](Replica& r) { r.step({}); });
}
void Replicated::step(std::int64_t samples) {
  impl_->run([&](Replica& r) { r.step(checked("step()", samples)); });
}
void Replicated::step(const BatchFigures& batch) {
  impl_->run([&](Replica& r) {
    if (batch.samples) checked("step()", *batch.samples);
    r.step(batch.samples, batch.loss);
  });
}
void Replicated::accumulate() {
  impl_->run([](Replica& r) { r.accumulate({}); });
}
void Replicated::accumulate(std::int64_t samples) {
  impl_->run([&](Replica& r) { r.accumulate(checked("accumulate()", samples)); });
}
void Replicated::exchange() {
  impl_->run([](Replica& r) { r.exchange({}); });
}
void Replicated::exchange(std::int64_t samples) {
  impl_->run([&](Replica& r) { r.exchange(checked("exchange()", samples)); });
}
void Replicated::apply() {
  impl_->run([](Replica& r) { r.apply(); });
}
void Replicated::join() {
  impl_->run([](Replica& r) { r.join(); });
}
std::unique_ptr<EvaluationPoint> Replicated::evaluation() {
  return impl_->run([](Replica& r) { return r.evaluation(); });
}
double Replicated::mean(double mine) {
  return impl_->run([&](Replica& r) { return r.metric(mine).mean; });
}
double Replicated::sum(double mine) {
  return impl_->run([&](Replica& r) { return r.metric(mine).sum; });
}
Account Replicated::account() const {
  return impl_->run([](const Replica& r) { return r.account(); });
}
std::string Replicated::advice() {
  return impl_->run([](Replica& r) { return r.advice(); });
}
void Replicated::save(const std::string& folder, int keep) {
  impl_->run([&](Replica& r) { r.save(folder, keep); });
}
std::int64_t Replicated::load(const std::string& folder) {
  return impl_->run([&](Replica& r) { return r.load(folder); });
}
void Replicated::finish() {
  impl_->run([](Replica& r) { r.finish(); });
}

}  // namespace tacit::torch
