// SPDX-License-Identifier: MIT
// Turns processes into ranks: the environment and the descriptors that the library finds its job by (docs/launch.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch/children.h"
#include "tacit/transport/job_key.h"

namespace tacit::cli {

// Equal for all ranks of a job.
struct Job {
  std::string id;
  int size = 1;
  std::optional<JobKey> key;  // none: the user said --insecure-plaintext
  std::string rendezvous;
  std::vector<std::string> command;
  bool restarts = false;  // lost ranks may be started again, and the others shall take them back
};

// The ranks of one machine.
struct Share {
  int first = 0;
  int count = 1;
};

// Those of this machine. Ids of children are ranks.
//
// Lifetime  the children outlive it. Threads: the loop's.
class LocalRanks final : public RankHost {
 public:
  LocalRanks(Children& children, Job job, Share share);  // throws InvalidConfig

  // Rank 0 gets the socket, which no longer exists in this process afterwards, and `input` as its stdin; the others
  // read /dev/null. Throws InvalidConfig.
  void start(UniqueFd listener, int input);
  void start_again(const Return& how) override;
  void signal(int number) override { children_.signal(number); }
  void signal(int rank, int number) override { children_.signal(rank, number); }
  bool all_stopped() const override { return children_.all_stopped(); }

 private:
  // What a rank has in common with its like and at every start.
  SpawnPlan plan_for(int rank) const;
  // Hands the key over with the plan; the descriptor has to live until the rank is started.
  UniqueFd add_key(SpawnPlan& plan) const;

  Children& children_;
  const Job job_;
  const Share share_;
  const int notes_;  // the children's
};

// HOST:PORT, with the user name that ssh may need taken off and brackets around an IPv6 address.
std::string address_at(const std::string& host, std::uint16_t port);
// tcp://HOST:PORT
std::string rendezvous_at(const std::string& host, std::uint16_t port);

}  // namespace tacit::cli
