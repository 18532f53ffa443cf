// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "transport/wait_tally.h"
#include "world/backend.h"

namespace tacit {

// One rank over its endpoint, which must outlive it. Tasks are threads, whatever the ranks are.
class RankProcess final : public Process {
 public:
  RankProcess(Endpoint& endpoint, const MakeComm& make_comm)
      : rank_(endpoint.rank()),
        size_(endpoint.size()),
        comm_(make_comm(endpoint, tasks_, Tag::Lane::kTrain)),
        control_(make_comm(endpoint, tasks_, Tag::Lane::kControl)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Comm& comm() override { return *comm_; }
  Comm& control() override { return *control_; }
  Tasks& tasks() override { return tasks_; }
  Seconds waited() const override { return WaitTally::mine()->total(); }

 private:
  const int rank_;
  const int size_;
  ThreadTasks tasks_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<Comm> control_;
};

}  // namespace tacit
