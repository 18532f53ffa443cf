// SPDX-License-Identifier: MIT
// A user's program in its simplest form, which does what its first argument says: own_program WHAT [--workers N] [...].
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/main.h"

namespace {

using tacit::Process;

// Tells the test that this rank has come so far.
void here(const Process& me) { std::ofstream("here." + std::to_string(me.rank())) << "yes\n"; }

void wait_for_all(Process& me) {
  std::vector<float> x(10);
  me.comm().mean(x);
}

// For ever. Until there is a file `go`, rank 0 looks for it and does not wait, and the others wait for rank 0.
[[noreturn]] void wait_for_go(Process& me) {
  here(me);
  while (me.rank() == 0 && !std::filesystem::exists("go"))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  for (;;) wait_for_all(me);
}

[[noreturn]] void compute_for_ever(Process& me) {
  here(me);
  // Not without a call: the thread sanitizer handles signals in these alone.
  for (;;) std::this_thread::sleep_for(std::chrono::microseconds(1));
}

[[noreturn]] void step_for_ever(Process& me) {
  here(me);
  for (std::int64_t t = 0;; ++t) me.spend_compute(t);
}

// LibTorch's errors look like this.
[[noreturn]] void throw_lines(Process&) {
  throw std::runtime_error(
      "shapes cannot be multiplied\n  (3x4 and 5x6)\nException raised from meta at LinearAlgebra.cpp:67 "
      "(most recent call first):\nframe #0: c10::Error::Error\n");
}

const std::map<std::string, std::function<void(Process&)>> kBodies{
    {"succeed", wait_for_all},
    {"wait", wait_for_go},
    {"compute", compute_for_ever},
    {"step", step_for_ever},
    {"throw-lines", throw_lines},
    {"throw-config", [](Process&) { throw tacit::InvalidConfig("there is no file data.bin; name another"); }},
    {"throw-number", [](Process&) { throw 42; }},
    {"fail-on-one",
     [](Process& me) {
       if (me.rank() == 1) throw std::runtime_error("rank 1 has no data");
       wait_for_all(me);
     }},
    {"die-on-one",
     [](Process& me) {
       wait_for_all(me);
       if (me.rank() == 1) std::raise(SIGKILL);
       wait_for_all(me);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  return tacit::main(argc, argv, [&](Process& me) {
    if (argc < 2 || argv[argc] != nullptr) throw tacit::InvalidConfig("say what to do");
    kBodies.at(argv[1])(me);
    if (me.rank() == 0) std::printf("%d ranks, %d arguments\n", me.size(), argc - 1);
  });
}
