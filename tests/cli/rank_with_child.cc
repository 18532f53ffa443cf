// SPDX-License-Identifier: MIT
// A rank that starts another program, as a training script starts a loader of data, and then waits for its peers for
// ever. What it started leaves its process group and writes which descriptors it has.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "tacit/core/error.h"
#include "tacit/world/world.h"

int main(int argc, char** argv) {
  try {
    auto world = tacit::World::from_environment(argc, argv);
    const std::string rank = std::to_string(world.rank());
    world.run([&](tacit::Process& me) {
      me.comm().barrier();  // every connection is there
      const std::string start = "setsid sh -c 'exec >fds." + rank + "; ls -l /proc/$$/fd; echo $$ >left." +
                                rank + "; exec sleep 1000' &";
      if (std::system(start.c_str()) != 0) throw tacit::Error("cannot start a program");
      while (true) me.comm().barrier();
    });
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "tacit: " << error.what() << "\n";
    return 3;
  }
}
