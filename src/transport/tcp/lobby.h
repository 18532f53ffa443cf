// SPDX-License-Identifier: MIT
// Who may come in. Pure decisions, without sockets, so that they can be fuzzed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "transport/rank_list.h"
#include "transport/tcp/messages.h"

namespace tacit {

class Lobby {
 public:
  // The rank that receives waits for all ranks above it.
  Lobby(int host, int size, std::string job) : host_(host), size_(size), job_(std::move(job)) {}

  // Why this rank may not come in; empty: it may.
  std::string objection(const Hello& hello) const;
  // The same of one that was in, was lost and comes back.
  std::string objection_to_return(const Hello& hello) const;
  void enter(const Hello& hello, const std::string& host) { guests_[hello.rank] = {host, hello.port}; }
  void leave(int rank) { guests_.erase(rank); }

  bool complete() const { return missing().empty(); }
  std::vector<int> missing() const;
  const std::map<int, Address>& guests() const { return guests_; }
  int host() const { return host_; }
  int size() const { return size_; }

 private:
  std::string of_another_job(const Hello& hello) const;

  const int host_;
  const int size_;
  const std::string job_;
  std::map<int, Address> guests_;
};

}  // namespace tacit
