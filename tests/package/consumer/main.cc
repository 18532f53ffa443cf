// SPDX-License-Identifier: MIT
// A program outside the project, built against what cmake --install left.
#include <tacit/strategies/builtin.h>
#include <tacit/train/trainer.h>
#include <tacit/world/world.h>

#include <vector>

int main() {
  int failures = 0;
  tacit::World::threads(2).run([&](tacit::Process& me) {
    std::vector<float> x(10, static_cast<float>(me.rank()));
    me.comm().mean(x);
    if (x[3] != 0.5F) ++failures;
  });
  if (tacit::builtin_strategies().names().empty()) ++failures;
  if (tacit::load_dataset("synthetic:samples=10,test=10").train.size() != 10) ++failures;
  return failures;
}
