// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "means/make_mean.h"
#include "tacit/core/channel.h"
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

// One exchange in the background for all parts of a vector, which it gets as they become ready.
//
// Lifetime  dropped before end(), it ends with what it has got.
class PartsExchange {
 public:
  explicit PartsExchange(Worker& w) : parts_(std::make_shared<Channel<std::optional<FloatView>>>(w.tasks())) {
    exchange_ = w.comm().start_fed(
        [parts = parts_, all = false](Collectives& comm) mutable {
          comm.mean_each([&](bool wait) -> std::optional<FloatView> {
            if (all) return std::nullopt;
            const auto next = wait ? parts->get() : parts->try_get();
            all = next && !*next;
            return next ? *next : std::nullopt;
          });
        },
        fed_);
  }
  ~PartsExchange() {
    if (exchange_) end();
  }
  PartsExchange(const PartsExchange&) = delete;
  PartsExchange& operator=(const PartsExchange&) = delete;

  void add(FloatView part) { parts_->put(part); }
  std::unique_ptr<Pending> end() {
    parts_->put(std::nullopt);
    *fed_ = true;
    return std::move(exchange_);
  }

 private:
  const std::shared_ptr<bool> fed_ = std::make_shared<bool>(false);
  std::shared_ptr<Channel<std::optional<FloatView>>> parts_;  // nothing: that was all
  std::unique_ptr<Pending> exchange_;
};

class PlainMean final : public Mean {
 public:
  void mean(Worker& w, FloatView x) override {
    if (!begun_) return w.comm().mean(x);
    start(w, x)->wait();
  }
  std::unique_ptr<Pending> start(Worker& w, FloatView x) override {
    if (!begun_) return w.comm().start([x](Collectives& comm) { comm.mean(x); });
    const auto begun = std::exchange(begun_, nullptr);
    for (const Slice& each : rest_of(x.size(), std::exchange(parts_, {}))) begun->add(part(x, each));
    return begun->end();
  }
  void begin(Worker& w, Slice part, FloatView x) override {
    if (w.size() == 1) return;  // mean() has nothing to do either
    if (!begun_) begun_ = std::make_unique<PartsExchange>(w);
    begun_->add(tacit::part(x, part));
    parts_.push_back(part);
  }

  void finish(Worker&) override {}
  void save(Worker&, StateWriter&) override {}
  void load(Worker&, StateReader&) override {}

 private:
  std::vector<Slice> parts_;              // of the next mean, begun
  std::unique_ptr<PartsExchange> begun_;  // their exchange
};

}  // namespace

std::unique_ptr<Mean> make_plain_mean() { return std::make_unique<PlainMean>(); }

}  // namespace tacit
