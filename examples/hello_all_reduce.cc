// SPDX-License-Identifier: MIT
// The smallest program: every rank contributes its number, all get the mean.
//   build/release/examples/example_hello_all_reduce --workers 4
#include <cstdio>
#include <vector>

#include "tacit/main.h"

int main(int argc, char** argv) {
  return tacit::main(argc, argv, [](tacit::Process& me) {
    std::vector<float> x(1000, static_cast<float>(me.rank()));
    me.comm().mean(x);
    if (me.rank() == 0)
      std::printf("%d workers, mean of their ranks: %g\n", me.size(), static_cast<double>(x[0]));
  });
}
