// SPDX-License-Identifier: MIT
// The classic parameter server, as far as a mean needs one: gradients go to shards, which average them, and come back.
// A gradient that leaves in buckets has shards of each, which know nothing of the others: what of it is there early comes
// back early. Servers add in the order of the ranks, so that bits do not depend on the buckets.
#include <utility>
#include <vector>

#include "means/all_pending.h"
#include "means/make_mean.h"
#include "tacit/core/error.h"
#include "tacit/protocols/shards.h"

namespace tacit {
namespace {

class ServerMean final : public Mean {
 public:
  ServerMean(Worker& w, int servers, std::span<const Slice> buckets) {
    const Slice whole[] = {{0, w.params().size()}};
    for (const Slice& each : buckets.empty() ? std::span<const Slice>(whole) : buckets)
      pieces_.push_back(std::make_unique<Piece>(w, servers, each));
  }

  void mean(Worker& w, FloatView x) override {
    AllPending begun(std::exchange(begun_, {}));  // its end waits where what follows throws
    for (const auto& each : pieces_)
      if (!std::exchange(each->begun, false)) each->push_and_pull(w.t(), x);
    begun.wait();
  }
  std::unique_ptr<Pending> start(Worker& w, FloatView x) override {
    auto all = std::exchange(begun_, {});
    for (const auto& each : pieces_)
      if (!std::exchange(each->begun, false)) all.push_back(behind(w, *each, x));
    return all.size() == 1 ? std::move(all[0]) : std::make_unique<AllPending>(std::move(all));
  }
  void begin(Worker& w, Slice part, FloatView x) override {
    for (const auto& each : pieces_) {
      if (each->bucket != part || pieces_.size() == 1) continue;
      TACIT_CHECK(!std::exchange(each->begun, true), "a part of a mean was begun twice");
      begun_.push_back(behind(w, *each, x));
    }
  }

  void finish(Worker&) override {
    for (const auto& each : pieces_) each->shards.close();
  }
  void save(Worker&, StateWriter&) override {}
  void load(Worker&, StateReader&) override {}

 private:
  struct Piece {
    Piece(Worker& w, int servers, Slice of)
        : bucket(of), shards(w.comm(), servers, of.count, [&](Slice shard) {
            return make_mean_rule(w.size(), part(part(w.params(), of), shard));
          }) {}
    void push_and_pull(std::int64_t t, FloatView x) {
      shards.push(t, part(x, bucket));
      shards.pull(t, part(x, bucket));
    }

    const Slice bucket;
    Shards shards;
    bool begun = false;
  };

  static std::unique_ptr<Pending> behind(Worker& w, Piece& piece, FloatView x) {
    return w.comm().start([&piece, t = w.t(), x](Collectives&) { piece.push_and_pull(t, x); });
  }

  std::vector<std::unique_ptr<Piece>> pieces_;
  std::vector<std::unique_ptr<Pending>> begun_;  // last: their ends wait
};

}  // namespace

std::unique_ptr<Mean> make_server_mean(Worker& w, int servers, std::span<const Slice> buckets) {
  return std::make_unique<ServerMean>(w, servers, buckets);
}

}  // namespace tacit
