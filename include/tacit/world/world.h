// SPDX-License-Identifier: MIT
// A set of ranks and how they reach each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tacit/collectives/all_reduce.h"
#include "tacit/collectives/comm.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"
#include "tacit/transport/tcp.h"
#include "tacit/world/agreement.h"

namespace tacit {

struct Cluster;  // tacit/sim/cluster.h

// What a trainer did with its time, in seconds. The rest it waited. docs/worlds.md says what counts as what.
struct TimeSpent {
  double compute = 0;
  double communicate = 0;
};

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
  virtual std::string world() const { return ""; }  // World::name

  // A seed for this rank, such as torch::manual_seed(me.seed(1)): other ranks and other n have other seeds, and the same
  // run has the same (core/rank_seed.h). Ranks that are threads share LibTorch's default generator, whose seed is that of
  // the last to set it: there, a generator of the rank's own takes it, at::make_generator<at::CPUGeneratorImpl>(seed).
  std::uint64_t seed(std::uint64_t n) const;

  // After each gradient, called by the trainer. In virtual time it advances the clock by the cost of one, or of this
  // share of one; elsewhere it throws Interrupted once World::interrupt was called, for ranks that wait for nobody.
  void spend_compute(std::int64_t step) { spend_compute(step, 1); }
  virtual void spend_compute(std::int64_t /*step*/, double /*share*/) {}
  // Virtual time only: the next gradient began that much earlier, because an evaluation waited for an exchange that
  // this gradient would have hidden.
  virtual void grant_head_start(Seconds) {}
  // Around an evaluation, which all ranks enter together: it costs no virtual time, and no rank gets ahead by it.
  virtual void pause() {}
  virtual void resume() {}
  // Virtual time only: what the trainer did with it so far.
  virtual std::optional<TimeSpent> virtual_time_spent() const { return std::nullopt; }
  bool virtual_time() const { return virtual_time_spent().has_value(); }
  // --- ranks that were lost and come back, where the world takes them (WorldOptions::take_back)

  virtual bool takes_back() const { return false; }
  // This rank has come back and takes no part yet: its collectives are among itself alone, so that it can make what the
  // others have made. It asks its sponsor, the first of others(), to be admitted.
  virtual bool outside() const { return false; }
  // The ranks that are here beside this one, those that have been longest first.
  virtual std::vector<int> others() const { return {}; }
  // Where a rank comes into the others' collectives.
  struct Place {
    std::int64_t train = 0;
    std::int64_t control = 0;
  };
  // By the sponsor, between two collectives: all that live count on `peer` from the next one on, in comm() and control().
  virtual Place admit(int peer, std::uint32_t entry);
  // By the rank that was admitted.
  virtual void enter(const Place& place);

  // Real time only: how long the calling task has been blocked, so far, while nothing of what it waited for was under
  // way. What happens while MPI's own collectives run is not seen. train/time_account.h makes an account of it.
  virtual Seconds waited() const { return Seconds(0); }
};

struct WorldOptions {
  WaitLimits limits;
  AllReduce all_reduce = AllReduce::kAuto;
  // MPI's own collectives in place of Tacit's, where the world is MPI; others refuse it. The ledger does not see them,
  // and MPI decides how sums are rounded.
  bool native_collectives = false;
  // Goes on without ranks that fail: Comm::survives. For algorithms that can; StrategyInfo::survives says which. Over
  // MPI it changes nothing, because mpirun ends all ranks with the first.
  bool survive = false;
  // Where tacit launch starts lost ranks again (--restart), they come back to this world: Process::takes_back. With
  // `survive` and over TCP; elsewhere it changes nothing. For programs whose loop admits them, as tacit train does.
  bool take_back = false;
  Seconds lost_after{10};  // ranks as processes over TCP: a peer that is silent for so long is lost
  // What ranks that are processes must have been told alike; they compare it as soon as they have met. A world refuses to
  // open where they differ: InvalidConfig on every rank (agree()).
  std::vector<Setting> settings{};
};

// Which world to open; what is not set is decided by the environment.
struct WorldChoice {
  enum class Kind { kAuto, kThreads, kTcp, kMpi };
  // kAuto: as the launcher wants it that started this process; without one, threads.
  Kind kind = Kind::kAuto;
  // The number of threads, 1 by default. Under a launcher: unset, or the launcher's number of ranks.
  std::optional<int> workers{};
  // For TCP; they take precedence over the environment.
  std::string rendezvous{};
  std::string key_file{};
  bool insecure_plaintext = false;
};

// The ranks are all in this process (threads), or this process is one of them (tcp, mpi).
//
// Threads  run() from one; interrupt() from any.
class World {
 public:
  // Ranks as threads of this process. Throws InvalidConfig for less than one and for more than 1024.
  static World threads(int ranks, WorldOptions options = {});
  // This process as one rank of several; returns once all have met. The limits in `options` count. Throws InvalidConfig
  // in a build without that transport.
  static World tcp(TcpOptions tcp, WorldOptions options = {});
  static World mpi(WorldOptions options = {});
  // Ranks as machines of a simulated cluster, in virtual time. At most one per process. `seed` is that of the machines'
  // jitter. Is in tacit::sim, which the program must link. Throws InvalidConfig in a build without the simulator.
  static World simulated(const Cluster& cluster, std::uint64_t seed, WorldOptions options = {});

  // As chosen and as the environment of this process says: tacit launch, mpirun, srun, torchrun or nobody. Throws
  // InvalidConfig for an environment that is incomplete or contradicts itself or the choice; never a world of one
  // instead.
  static World open(const WorldChoice& choice, WorldOptions options = {});
  // open() with `--workers N` taken out of argv; what is left is the caller's. Rank 0
  // says on stderr how the ranks were found, if not as threads.
  static World from_environment(int& argc, char** argv, WorldOptions options = {});

  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  int size() const;
  int rank() const;          // of this process; 0 where all ranks are in it
  bool one_process() const;  // all ranks are in this process
  bool came_back() const;    // to a job that had lost this rank: Process::outside
  int local_ranks() const;   // on this machine; size() where that is not known
  std::string name() const;  // "threads", "tcp", "tcp+tls", "mpi", "simulated"
  // "4 ranks over MPI, as OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE say (mpirun)"; empty for threads, and where
  // open() was not used.
  std::string how() const;
  // Of everything that happened in a simulated world, with its times: equal runs give equal hashes. Empty elsewhere.
  std::string trace_hash() const;

  // Runs body once for every rank in this process and waits for all of these. A rank that throws is lost to the others;
  // the error of the lowest rank in this process that is not such a loss is rethrown. Once per world.
  void run(const std::function<void(Process&)>& body);

  // Ends every wait that blocks with Interrupted, on every rank in this process, and every trainer that waits for
  // nobody before its next step.
  void interrupt();

  class Impl;

 private:
  explicit World(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacit
