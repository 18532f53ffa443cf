// SPDX-License-Identifier: MIT
// tacit bench follow: Tacit as a contestant. `tacit bench` starts it.
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "cli/bench.h"
#include "cli/turn.h"
#include "tacit/core/error.h"
#include "tacit/core/space.h"
#include "tacit/world/world.h"

namespace tacit::cli {
namespace {

// A turn as rank 0 tells it to the others.
enum class Kind : std::uint64_t { kEnd, kAllReduce, kLatency, kBandwidth };
struct Order {
  Kind kind = Kind::kEnd;
  std::uint64_t bytes = 0;
};

Order next_order() {
  const auto turn = next_turn();
  if (!turn) return {};
  if (turn->kind == "allreduce") return {Kind::kAllReduce, turn->bytes};
  if (turn->kind == "latency") return {Kind::kLatency, turn->bytes};
  if (turn->kind == "bandwidth") return {Kind::kBandwidth, turn->bytes};
  throw std::invalid_argument("unknown turn '" + turn->kind + "'");
}

class Follower {
 public:
  explicit Follower(Process& me) : me_(me), comm_(me.comm()) {}

  void run() {
    for (;;) {
      Order order;
      if (me_.rank() == 0) order = next_order();
      me_.control().broadcast(std::as_writable_bytes(std::span(&order, 1)), 0);
      if (order.kind == Kind::kEnd) return;
      const double seconds = take(order);
      if (me_.rank() == 0) answer(seconds);
    }
  }

 private:
  double take(const Order& order) {
    const Block x = host_space().allocate(order.bytes / sizeof(float) + 1);  // as the vectors of a training
    const FloatView floats = x.view().first(order.bytes / sizeof(float));
    const Bytes bytes = bytes_of(x.view()).first(order.bytes);
    comm_.barrier();
    switch (order.kind) {
      case Kind::kAllReduce:
        return timed([&] { comm_.sum(floats); });
      case Kind::kLatency:
        return ping_pong(bytes) / 2;
      case Kind::kBandwidth:
      case Kind::kEnd:
        break;
    }
    return stream(bytes);
  }

  // Between two ranks a broadcast is one message from its root, and nothing else.
  double ping_pong(Bytes x) {
    return timed([&] {
      comm_.broadcast(x, 0);
      comm_.broadcast(x, 1);
    });
  }

  // So many messages for one small answer, without which rank 0 would count what is still on its way.
  double stream(Bytes x) {
    constexpr int kMessages = 16;
    std::array<std::byte, 1> arrived{};
    return timed([&] {
             for (int i = 0; i < kMessages; ++i) comm_.broadcast(x, 0);
             comm_.broadcast(arrived, 1);
           }) /
           kMessages;
  }

  template <class Once>
  double timed(const Once& once) {
    return measure(once, [&](int& n) { comm_.broadcast(std::as_writable_bytes(std::span(&n, 1)), 0); });
  }

  Process& me_;
  Comm& comm_;
};

World make_world(const std::string& name, int workers) {
  // Between turns ranks wait for rank 0, and rank 0 for its parent, who knows when it has taken too long.
  const WorldOptions options{
      .limits = {.timeout = Seconds(86400), .stall = Seconds(86400), .report = nullptr}};
  if (name == "threads") return World::threads(workers, options);
  return World::open({.kind = name == "tcp" ? WorldChoice::Kind::kTcp : WorldChoice::Kind::kMpi}, options);
}

}  // namespace

int follow_bench(const std::string& world, int workers) {
  make_world(world, workers).run([](Process& me) { Follower(me).run(); });
  return 0;
}

}  // namespace tacit::cli
