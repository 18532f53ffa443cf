// SPDX-License-Identifier: MIT
// A set of ranks and how they reach each other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tacit/collectives/all_reduce.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// One rank, as the body of World::run sees it.
//
// Lifetime  ends with the body. Threads: the body's own, and tasks it spawned.
class Process {
 public:
  virtual ~Process() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Comm& comm() = 0;     // for training
  virtual Comm& control() = 0;  // for evaluation and bookkeeping: counted apart
  virtual Tasks& tasks() = 0;
};

struct WorldOptions {
  WaitLimits limits;
  AllReduce all_reduce = AllReduce::kAuto;
};

// Threads  run() from one; interrupt() from any.
class World {
 public:
  // Ranks as threads of this process. Throws InvalidConfig for less than one.
  static World threads(int ranks, WorldOptions options = {});
  // `--workers N` threads, taken out of argv (default 1). Throws InvalidConfig under mpirun, srun or torchrun with more
  // than one process: each would be a world of its own.
  static World from_environment(int& argc, char** argv, WorldOptions options = {});
  static void refuse_launchers();

  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  int size() const;
  std::string name() const;  // "threads"

  // Runs body once per rank and waits for all. A rank that throws is lost to the others; the error of
  // the lowest rank that is not such a loss is rethrown. Once per world.
  void run(const std::function<void(Process&)>& body);

  // Ends every wait that blocks, on every rank, with Interrupted.
  void interrupt();

  class Impl;

 private:
  explicit World(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacit
