// SPDX-License-Identifier: MIT
// Two or three ranks that send, ask, look, drop and offer to each other over memory, plain or with TLS, in one thread and
// without a clock. A seed decides what happens next: which rank acts, which handler runs, which bytes move and how many,
// which wire tells that it is ready. In some of them the links leave the wire for rings. The laws:
//   - every message arrives once, whole, and in the order of its peer and tag, whatever is dropped meanwhile;
//   - when nothing is left to happen nobody waits: that would be a stall;
//   - a request that ends while its owner sleeps wakes it;
//   - the ledger has every byte that was sent, and both sides count the same messages;
//   - a link that is cut is lost to both sides, once.
#pragma once

#include <cstdint>
#include <string>

namespace tacit::test {

struct ScheduleResult {
  std::string broken;  // which law, and how; empty: none
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  // that arrived
  std::uint64_t offers = 0;
  std::uint64_t key_updates = 0;
  std::uint64_t cuts = 0;
  std::uint64_t rings = 0;  // links that left the wire, each way
};

ScheduleResult run_stream_schedule(std::uint64_t seed);

}  // namespace tacit::test
