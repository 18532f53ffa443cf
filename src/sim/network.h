// SPDX-License-Identifier: MIT
// The network between simulated machines: a stream from every rank to every other, as over TCP.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

namespace tacit::sim {

// Messages of one rank to one other follow each other: a message has the stream's share of the links from the moment
// the last byte of the one before it has left, and is there one latency after its own last byte. SimGrid shares the
// links between the streams; latencies are added here, because its flows could not follow each other without a gap.
//
// Ordering  per sender and receiver.
// Threads   SimGrid's own context, but for require_way.
class Network {
 public:
  // Takes the latencies of all links away from SimGrid. One per process.
  explicit Network(std::vector<simgrid::s4u::Host*> hosts);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  int size() const { return static_cast<int>(hosts_.size()); }
  simgrid::s4u::Host* host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }

  // Throws InvalidConfig where the platform file has no way from one to the other. On any context, before send.
  void require_way(int from, int to) { stream(from, to); }
  // Carries so many bytes and then calls fn, in SimGrid's own context.
  void send(int from, int to, std::uint64_t bytes, std::function<void()> fn);

 private:
  struct Parcel {
    std::uint64_t bytes;
    std::function<void()> fn;
  };
  struct Stream {
    simgrid::s4u::Host* from;
    simgrid::s4u::Host* to;
    double latency;
    simgrid::s4u::CommPtr flow{};                // of the first that waits
    std::deque<Parcel> waiting{};                // to leave, with the one that is leaving
    std::deque<std::function<void()>> flying{};  // have left and are not there yet
  };

  Stream& stream(int from, int to);
  double latency(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to) const;
  void begin(Stream& stream);
  void on_left(Stream& stream);

  const std::vector<simgrid::s4u::Host*> hosts_;
  // Only looked up, never iterated: the order is random.
  std::unordered_map<const simgrid::s4u::Link*, double> latencies_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  std::unordered_map<const simgrid::s4u::Activity*, Stream*> flows_;
};

}  // namespace tacit::sim
