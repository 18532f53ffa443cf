// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <vector>

#include "means/all_pending.h"
#include "means/make_mean.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

// What is left of n values between some parts of them. Throws Bug where two of them overlap or one ends behind.
std::vector<Slice> rest_of(std::size_t n, std::vector<Slice> parts) {
  if (parts.empty()) return {{0, n}};
  std::sort(parts.begin(), parts.end(), [](const Slice& a, const Slice& b) { return a.offset < b.offset; });
  parts.push_back({n, 0});
  std::vector<Slice> rest;
  std::size_t at = 0;
  for (const Slice& p : parts) {
    TACIT_CHECK(at <= p.offset && p.count <= n - p.offset,
                "a part of a mean was begun twice or is none of it");
    if (at < p.offset) rest.push_back({at, p.offset - at});
    at = p.offset + p.count;
  }
  return rest;
}

class PlainMean final : public Mean {
 public:
  void mean(Worker& w, FloatView x) override {
    AllPending begun(std::exchange(begun_, {}));  // its end waits where what follows throws
    for (const Slice& each : rest_of(x.size(), std::exchange(parts_, {}))) w.comm().mean(part(x, each));
    begun.wait();
  }
  std::unique_ptr<Pending> start(Worker& w, FloatView x) override {
    auto all = std::exchange(begun_, {});
    all.push_back(w.comm().start([x, rest = rest_of(x.size(), std::exchange(parts_, {}))](Collectives& comm) {
      for (const Slice& each : rest) comm.mean(part(x, each));
    }));
    return all.size() == 1 ? std::move(all[0]) : std::make_unique<AllPending>(std::move(all));
  }
  void begin(Worker& w, Slice part, FloatView x) override {
    if (w.size() == 1) return;  // mean() has nothing to do either
    begun_.push_back(w.comm().start([piece = tacit::part(x, part)](Collectives& comm) { comm.mean(piece); }));
    parts_.push_back(part);
  }

  void finish(Worker&) override {}
  void save(Worker&, StateWriter&) override {}
  void load(Worker&, StateReader&) override {}

 private:
  std::vector<Slice> parts_;                     // of the next mean, begun
  std::vector<std::unique_ptr<Pending>> begun_;  // their exchanges
};

}  // namespace

std::unique_ptr<Mean> make_plain_mean() { return std::make_unique<PlainMean>(); }

}  // namespace tacit
