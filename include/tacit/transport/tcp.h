// SPDX-License-Identifier: MIT
// Ranks as processes on any number of machines, over TCP: one connection per pair of ranks, opened at the start, TLS
// 1.3 with a job key. docs/wire-format.md gives every byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tacit/transport/endpoint.h"
#include "tacit/transport/job_key.h"

namespace tacit {

class Fabric;  // transport/fabric.h

// Where a rank takes in those that come back.
struct TcpMember {
  int rank = 0;
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const TcpMember&, const TcpMember&) = default;
};

struct TcpOptions {
  int rank = 0;
  int size = 1;
  // Where the ranks meet: tcp://HOST:PORT, where rank 0 listens, or file://PATH on a disk that all ranks see, where
  // rank 0 writes its address.
  std::string rendezvous;
  std::string job = "tacit";  // ranks of another job are refused
  // Without a key ranks meet on loopback only, unless insecure_plaintext says that the network is closed.
  std::optional<JobKey> key;
  bool insecure_plaintext = false;
  int listener = -1;    // rank 0: a socket that listens already, taken over; -1: make one
  int local_ranks = 0;  // ranks on this machine; 0: unknown. Waits spin only while each has a core
  // With a key, messages between ranks of one machine go through memory where the kernel allows it, past the socket.
  bool share_memory = true;
  // Goes on listening when all have met, for ranks that were lost and come back as new processes.
  bool take_back = false;
  // Not 0: this process comes back to a job that goes on, as its so many-th return (Endpoint::entry), and to these, who
  // take it back; rendezvous and listener are of no use then.
  std::uint32_t entry = 0;
  std::vector<TcpMember> members;
  Seconds start_limit{60};  // until all ranks have met; never more than limits.timeout
  Seconds lost_after{10};   // a peer that is silent for so long is lost
  WaitLimits limits;
};

// Meets the other ranks and connects to each. Throws InvalidConfig for what the user can mend (an address that does not
// resolve, a port in use, a second rank 1), Timeout with the missing ranks, Mismatch where this rank was refused, PeerLost
// where a rank that comes back finds nobody, or is not let in by one of those that live.
std::unique_ptr<Fabric> open_tcp(TcpOptions options);

}  // namespace tacit
