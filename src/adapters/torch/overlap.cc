// SPDX-License-Identifier: MIT
#include "adapters/torch/overlap.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tacit/core/error.h"

namespace tacit::torch {
namespace {

constexpr std::size_t kSample = 16;  // of one tensor

// visit(where) for a few places that lie evenly in a tensor.
template <class Visit>
void each_sampled(std::size_t count, const Visit& visit) {
  const std::size_t few = std::min(kSample, count);
  for (std::size_t k = 0; k < few; ++k) visit(k * (count / few));
}

}  // namespace

Overlap::Overlap(FlatModule& flat, std::size_t bucket_floats, bool allowed, Readiness::Tell tell)
    : flat_(flat),
      readiness_(flat.tensors(), bucket_floats, std::move(tell)),
      seen_(flat.tensors().size()),
      spoiled_(!allowed || !readiness_.overlaps()) {
  if (!spoiled_) hooks_.emplace(flat, [this](std::size_t tensor) { added(tensor); });
}

FloatView Overlap::gradient() { return armed_ && (listening_ || early_) ? copy_.view() : flat_.gradient(); }

void Overlap::added(std::size_t tensor) {
  if (!listening_ || spoiled_ || std::this_thread::get_id() != thread_) return;
  if (std::exchange(seen_[tensor].added, true)) twice_ = tensor;
  if (twice_) return;
  const ::torch::Tensor values = flat_.gradient_of(tensor);
  const Slice where = flat_.tensors()[tensor];
  const FloatView now = std::span(values.data_ptr<float>(), where.count);
  look_at(tensor, now);
  if (!armed_) return;
  copy(now, part(copy_.view(), where));
  readiness_.add(where);
}

void Overlap::look_at(std::size_t tensor, ConstFloatView values) {
  std::vector<float>& sample = seen_[tensor].sample;
  sample.clear();
  each_sampled(values.size(), [&](std::size_t i) { sample.push_back(values.host()[i]); });
}

bool Overlap::changed(std::size_t tensor) {
  const ConstFloatView now = part(flat_.gradient(), flat_.tensors()[tensor]);
  const std::vector<float> before = seen_[tensor].sample;
  look_at(tensor, now);
  // A gradient that is not a number is equal to itself.
  return std::memcmp(before.data(), seen_[tensor].sample.data(), before.size() * sizeof(float)) != 0;
}

void Overlap::refuse(const std::string& call, const std::string& what) const {
  throw InvalidConfig(call + " " + what +
                      ", when gradients had left for the other ranks already, as in the steps before, which "
                      "had one backward pass "
                      "each and its gradients unchanged; set Options::bucket to \"whole\", with which they "
                      "leave in the step");
}

void Overlap::require_none(const std::string& call) const {
  if (begun()) refuse(call, "came after a backward pass without a step");
}

void Overlap::close(const std::string& call, bool plain) {
  listening_ = false;
  early_ = begun();
  if (spoiled_) return;
  if (!plain && begun()) refuse(call, "came with samples or micro-batches");
  if (twice_ && begun()) refuse(call, "came after a second backward pass into '" + flat_.name(*twice_) + "'");
  spoiled_ = !plain || twice_;
  for (std::size_t i = 0; i < seen_.size() && !spoiled_; ++i) {
    if (!seen_[i].added || !changed(i)) continue;
    if (begun()) refuse(call, "found that the gradient of '" + flat_.name(i) + "' changed after backward()");
    spoiled_ = true;
  }
}

void Overlap::finish() {
  if (early_)  // the parameters that took no part in this step too
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (const Slice where = flat_.tensors()[i]; !seen_[i].added)
        copy(part(flat_.gradient(), where), part(copy_.view(), where));
  readiness_.finish();
}

void Overlap::next() {
  readiness_.begin();
  for (Seen& each : seen_) each.added = false;
  twice_.reset();
  listening_ = true;
  early_ = false;
  armed_ = !spoiled_;
  if (armed_) copy_.room(flat_.gradient().size(), flat_.gradient());
}

}  // namespace tacit::torch
