// SPDX-License-Identifier: MIT
// What differs between worlds, below World.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tacit/core/tasks.h"
#include "tacit/world/world.h"
#include "transport/fabric.h"

namespace tacit {

// Threads  as World.
class World::Impl {
 public:
  virtual ~Impl() = default;
  virtual int size() const = 0;
  virtual int rank() const = 0;
  virtual bool one_process() const = 0;
  virtual std::string name() const = 0;
  virtual void run(const std::function<void(Process&)>& body) = 0;
  virtual void interrupt() = 0;
  virtual std::string trace_hash() const { return ""; }
  // Ranks in other processes without which the run came to its end.
  virtual std::vector<int> given_up() const { return {}; }
  // Where ranks that were lost come back to; 0: nowhere.
  virtual std::uint16_t door() const { return 0; }

  // World::interrupt was called: for ranks that compute and wait for nobody.
  std::atomic<bool> interrupted{false};

  // How World::open found the ranks.
  struct Origin {
    std::string how;
    int local_ranks = 0;       // 0: not known
    int note_descriptor = -1;  // the launcher's memory for notes, where a run may go on without ranks
    bool returns = false;      // this rank comes back
  };
  Origin origin;
};

// What a rank talks through on each lane. endpoint and tasks outlive it.
using MakeComm = std::function<std::unique_ptr<Comm>(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane)>;
// By Tacit's own collectives. Throws InvalidConfig where the options want those of the transport.
MakeComm own_collectives(const WorldOptions& options, const std::string& world);

// Compares WorldOptions::settings among ranks that have just met, then those of the options that decide how ranks talk.
// Over plain messages: whether a world survives, and whose collectives it has, is what ranks may differ in. Throws
// InvalidConfig on every rank, which has then left.
void agree_on_options(Fabric& fabric, const WorldOptions& options);

// This process as one rank, on a fabric that has met its peers.
std::unique_ptr<World::Impl> make_process_world(std::unique_ptr<Fabric> fabric, std::string name,
                                                MakeComm make_comm);

// Whether an error only reports that another rank failed first.
bool is_consequence(const std::exception_ptr& error);
// Of the ranks' errors, where there are any, throws the one that explains the others: a rank that fails is lost to its
// peers, which then fail too.
void rethrow_cause(const std::vector<std::exception_ptr>& errors);

}  // namespace tacit
