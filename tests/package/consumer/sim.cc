// SPDX-License-Identifier: MIT
// The same on a simulated cluster.
#include <tacit/sim/cluster.h>
#include <tacit/world/world.h>

#include <vector>

int main() {
  tacit::Cluster cluster;
  cluster.workers = 2;
  int failures = 0;
  tacit::World::simulated(cluster, 1).run([&](tacit::Process& me) {
    std::vector<float> x(10, static_cast<float>(me.rank()));
    me.comm().mean(x);
    if (x[3] != 0.5F) ++failures;
  });
  return failures;
}
