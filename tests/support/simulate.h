// SPDX-License-Identifier: MIT
// Simulations in tests. SimGrid has one engine per process, so that each is run by a child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include "tacit/world/world.h"

namespace tacit::test {

// Runs body in a child of this process; what fails there fails here.
inline void in_child(const std::function<void()>& body) {
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "threw: " << error.what();
    }
    std::cout.flush();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "in the child, see above; status " << status;
}

// A flat network of so many workers at 1 Gbit/s and 100 us from worker to worker, on which computing takes no time.
inline Cluster flat(int workers) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.link = {125e6, Seconds(50e-6)};
  cluster.step = Seconds(0);
  return cluster;
}

inline WorldOptions without_limits() {
  WorldOptions options;
  options.limits = {kNever, kNever, nullptr};
  return options;
}

// In a child: body on every rank of a cluster, then `after` with the world.
inline void simulate(
    const Cluster& cluster, const std::function<void(Process&)>& body,
    const std::function<void(World&)>& after = [](World&) {},
    const WorldOptions& options = without_limits()) {
  in_child([&] {
    World world = World::simulated(cluster, 1, options);
    world.run(body);
    after(world);
  });
}

// In a child: the error of type E that such a run ends with must have these words.
template <class E>
void simulate_failing(const Cluster& cluster, const std::vector<std::string>& words,
                      const std::function<void(Process&)>& body,
                      const WorldOptions& options = without_limits()) {
  in_child([&] {
    World world = World::simulated(cluster, 1, options);
    try {
      world.run(body);
      ADD_FAILURE() << "the run ended well";
    } catch (const E& error) {
      for (const std::string& word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  });
}

}  // namespace tacit::test
