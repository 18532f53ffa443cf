// SPDX-License-Identifier: MIT
// The classic parameter server, as far as a mean needs one: gradients go to shards, which average them, and come back.
#include "means/make_mean.h"
#include "tacit/protocols/shards.h"

namespace tacit {
namespace {

class ServerMean final : public Mean {
 public:
  ServerMean(Worker& w, int servers)
      : shards_(w.comm(), servers, w.params().size(),
                [&](Slice shard) { return make_mean_rule(w.size(), part(w.params(), shard)); }) {}

  void mean(Worker& w, FloatView x) override { push_and_pull(w.t(), x); }
  std::unique_ptr<Pending> start(Worker& w, FloatView x) override {
    return w.comm().start([this, t = w.t(), x](Collectives&) { push_and_pull(t, x); });
  }
  void begin(Worker&, Slice, FloatView) override {}  // a step is pushed whole

  void finish(Worker&) override { shards_.close(); }
  void save(Worker&, StateWriter&) override {}
  void load(Worker&, StateReader&) override {}

 private:
  void push_and_pull(std::int64_t t, FloatView x) {
    shards_.push(t, x);
    shards_.pull(t, x);
  }

  Shards shards_;
};

}  // namespace

std::unique_ptr<Mean> make_server_mean(Worker& w, int servers) {
  return std::make_unique<ServerMean>(w, servers);
}

}  // namespace tacit
