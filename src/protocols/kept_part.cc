// SPDX-License-Identifier: MIT
#include "protocols/kept_part.h"

#include <utility>

#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit {

KeptPart::KeptPart(Comm& comm, GroupSums::Groups groups, Late late, FloatView x)
    : comm_(comm), groups_(std::move(groups)), late_(late), own_(x), kept_(x), work_(x) {
  own_.take(x);
}

std::vector<int> KeptPart::group(std::int64_t number) const {
  const std::vector<int> living = comm_.living();
  const int place = place_among(living, comm_.rank());
  std::vector<int> members = groups_(place, static_cast<int>(living.size()), number);
  for (int& each : members) each = living[static_cast<std::size_t>(each)];
  return members;
}

void KeptPart::give(FloatView x, bool /*late*/) {
  if (late_ == Late::kAdd) return replace(x);
  own_.take(x);
  if (!std::exchange(fresh_, false)) return;
  kernels::add(kept_.view(), x);
  kernels::scale(1.0F / static_cast<float>(members_ + 1), x);  // W = (Wsum + W') / (S + 1)
}

void KeptPart::replace(FloatView x) {
  if (late_ == Late::kAdd && std::exchange(fresh_, false)) add_move(x);
  own_.take(x);
}

// W = Wsum/S + (W' - before)
void KeptPart::add_move(FloatView x) {
  kernels::axpy(-1.0F, kept_.view(), x);
  kernels::add(own_.view(), x);
}

void KeptPart::sum(Collectives& beside, std::int64_t number, std::optional<FloatView> waiting) {
  const std::vector<int> living = comm_.living();
  // Others may not know yet and make groups with the lost rank: what we sent them would not fit.
  for (std::size_t i = 0; i < static_cast<std::size_t>(comm_.size()); ++i)
    if (i >= living.size() || living[i] != static_cast<int>(i))
      throw PeerLost(comm_.rank(), static_cast<int>(i), "groups are made without it from now on");
  const std::vector<int> members = group(number);
  members_ = static_cast<int>(members.size());
  work_.take(own_.view());
  beside.sum_among(members, static_cast<std::uint32_t>(number), work_.view());

  const bool keep_sum = late_ == Late::kMean && !waiting;
  if (!keep_sum) kernels::scale(1.0F / static_cast<float>(members_), work_.view());  // W = Wsum / S
  if (waiting) work_.give(*waiting);
  if (keep_sum) swap(kept_, work_);
  if (late_ == Late::kAdd) {
    swap(own_, work_);
    if (!waiting && !fresh_) swap(kept_, work_);
  }
  fresh_ = !waiting;
}

}  // namespace tacit
