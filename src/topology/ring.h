// SPDX-License-Identifier: MIT
// Who sends which chunk to whom in a ring. Pure arithmetic; steps s = 0 .. n-2.
#pragma once

namespace tacit::ring {

struct Step {
  int send_chunk;
  int recv_chunk;
};
constexpr int next(int rank, int n) { return (rank + 1) % n; }
constexpr int prev(int rank, int n) { return (rank + n - 1) % n; }

// Every chunk is summed on its way round. Afterwards rank r owns the finished chunk r.
constexpr Step reduce_scatter(int rank, int n, int s) {
  return {(rank - s - 1 + 2 * n) % n, (rank - s - 2 + 2 * n) % n};
}
// Finished chunks go round once more.
constexpr Step all_gather(int rank, int n, int s) { return {(rank - s + n) % n, (rank - s - 1 + n) % n}; }

// What one rank sends in a step is what its successor expects, and the last chunk received is its own.
static_assert(reduce_scatter(0, 4, 1).send_chunk == reduce_scatter(1, 4, 1).recv_chunk);
static_assert(all_gather(3, 4, 2).send_chunk == all_gather(0, 4, 2).recv_chunk);
static_assert(reduce_scatter(2, 4, 2).recv_chunk == 2);
static_assert(all_gather(2, 4, 0).send_chunk == 2);

}  // namespace tacit::ring
