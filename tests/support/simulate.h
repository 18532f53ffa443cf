// SPDX-License-Identifier: MIT
// Simulations in tests. SimGrid has one engine per process, so that each is run by a child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "support/read_to_end.h"
#include "tacit/core/error.h"
#include "tacit/sim/cluster.h"
#include "tacit/world/world.h"

namespace tacit::test {

// Runs body in a child of this process; what fails there fails here.
inline void in_child(const std::function<void()>& body) {
  std::cout.flush();
  std::fflush(nullptr);
  const bool failed_before = ::testing::Test::HasFailure();  // is no news from the child
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
    _exit(!failed_before && ::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "in the child, see above; status " << status;
}

// What body gives in a child of this process; what fails there fails here.
inline std::string from_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  in_child([&] {
    const std::string text = body();
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  });
  close(ends[1]);
  std::string text = read_to_end(ends[0]);
  close(ends[0]);
  return text;
}

// Whether this build has the simulator.
inline bool has_simulator() {
  static const bool has = from_child([] {
                            try {
                              Cluster one;
                              World::simulated(one, 1);
                              return "yes";
                            } catch (const InvalidConfig&) {
                              return "no";
                            }
                          }) == "yes";
  return has;
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
