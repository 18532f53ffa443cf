// SPDX-License-Identifier: MIT
// Bytes read and written per second by each kernel, beside memcpy, for arrays in the first cache, in the last
// one and in memory.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "tacit/core/kernels.h"

namespace {

using namespace tacit;

// Up to four arrays of the size of the benchmark's argument in bytes.
class Arrays {
 public:
  Arrays(const benchmark::State& state, std::size_t count)
      : values_(count, std::vector<float>(static_cast<std::size_t>(state.range(0)) / sizeof(float), 1.0F)) {}
  FloatView operator[](std::size_t i) { return values_[i]; }

 private:
  std::vector<std::vector<float>> values_;
};

// Counts how many of the arrays one call reads or writes.
void count(benchmark::State& state, int passes) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * passes);
}

void copy_bytes(benchmark::State& state) {
  Arrays x(state, 2);
  for (auto _ : state) {
    copy(x[0], x[1]);
    benchmark::ClobberMemory();
  }
  count(state, 2);
}

void add(benchmark::State& state) {
  Arrays x(state, 2);
  for (auto _ : state) {
    kernels::add(x[0], x[1]);
    benchmark::ClobberMemory();
  }
  count(state, 3);
}

void axpy(benchmark::State& state) {
  Arrays x(state, 2);
  for (auto _ : state) {
    kernels::axpy(0.5F, x[0], x[1]);
    benchmark::ClobberMemory();
  }
  count(state, 3);
}

void scale(benchmark::State& state) {
  Arrays x(state, 1);
  for (auto _ : state) {
    kernels::scale(-1.0F, x[0]);  // keeps the magnitudes: no overflow, no subnormals
    benchmark::ClobberMemory();
  }
  count(state, 2);
}

void dot(benchmark::State& state) {
  Arrays x(state, 2);
  for (auto _ : state) benchmark::DoNotOptimize(kernels::dot(x[0], x[1]));
  count(state, 2);
}

void norm2(benchmark::State& state) {
  Arrays x(state, 1);
  for (auto _ : state) benchmark::DoNotOptimize(kernels::norm2(x[0]));
  count(state, 1);
}

void sgd_step(benchmark::State& state) {
  Arrays x(state, 3);
  const kernels::SgdStep step{.lr = 1e-3F, .momentum = 0.9F, .weight_decay = 1e-4F};
  for (auto _ : state) {
    kernels::sgd_step(step, x[0], x[1], x[2]);
    benchmark::ClobberMemory();
  }
  count(state, 5);
}

void adam_step(benchmark::State& state) {
  Arrays x(state, 4);
  const kernels::AdamStep step{.step_size = 1e-3F};
  for (auto _ : state) {
    kernels::adam_step(step, x[0], x[1], x[2], x[3]);
    benchmark::ClobberMemory();
  }
  count(state, 7);
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t bytes : {4LL << 10, 1LL << 20, 100LL << 20}) b->Arg(bytes);
}

BENCHMARK(copy_bytes)->Name("memcpy")->Apply(sizes);
BENCHMARK(add)->Apply(sizes);
BENCHMARK(axpy)->Apply(sizes);
BENCHMARK(scale)->Apply(sizes);
BENCHMARK(dot)->Apply(sizes);
BENCHMARK(norm2)->Apply(sizes);
BENCHMARK(sgd_step)->Apply(sizes);
BENCHMARK(adam_step)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
