// SPDX-License-Identifier: MIT
// The byte ledger: what an endpoint really sent and received, counted where it happens.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "tacit/transport/tag.h"

namespace tacit {

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t payload = 0;  // bytes the caller gave
  std::uint64_t framing = 0;  // bytes the transport added to carry them
  std::uint64_t wire() const { return payload + framing; }

  Traffic& operator+=(const Traffic& other) {
    messages += other.messages;
    payload += other.payload;
    framing += other.framing;
    return *this;
  }
  Traffic& operator-=(const Traffic& other) {
    messages -= other.messages;
    payload -= other.payload;
    framing -= other.framing;
    return *this;
  }
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

// Counts kTrain, kBackground and kControl apart; what forks send is counted as kBackground.
//
// Threads  any; a sum taken during an exchange may miss its last message.
class Ledger {
 public:
  Ledger(int ranks, int own) : own_(own), sent_(cells(ranks)), received_(cells(ranks)) {}

  int size() const { return static_cast<int>(sent_.size() / kAccounts); }

  void count_sent(int peer, Tag::Lane lane, std::size_t payload, std::size_t framing) {
    sent_[index(peer, lane)].add(payload, framing);
  }
  // What a transport sends for itself, such as heartbeats; these bytes belong to no message.
  void count_overhead(int peer, std::size_t framing) {
    sent_[index(peer, Tag::Lane::kControl)].framing.fetch_add(framing, std::memory_order_relaxed);
  }
  void count_received(int peer, Tag::Lane lane, std::size_t payload, std::size_t framing) {
    received_[index(peer, lane)].add(payload, framing);
  }

  Traffic sent(int peer, Tag::Lane lane) const { return sent_[index(peer, lane)].read(); }
  Traffic received(int peer, Tag::Lane lane) const { return received_[index(peer, lane)].read(); }
  // Over all other ranks: what a rank sends to itself costs no network.
  Traffic sent(Tag::Lane lane) const { return total(sent_, lane); }
  Traffic received(Tag::Lane lane) const { return total(received_, lane); }
  // What training has sent: all but the control lane.
  Traffic training() const {
    Traffic all = sent(Tag::Lane::kTrain);
    return all += sent(Tag::Lane::kBackground);
  }

 private:
  struct Cell {
    std::atomic<std::uint64_t> messages{0};
    std::atomic<std::uint64_t> payload{0};
    std::atomic<std::uint64_t> framing{0};

    void add(std::size_t more_payload, std::size_t more_framing) {
      messages.fetch_add(1, std::memory_order_relaxed);
      payload.fetch_add(more_payload, std::memory_order_relaxed);
      framing.fetch_add(more_framing, std::memory_order_relaxed);
    }
    Traffic read() const {
      return {messages.load(std::memory_order_relaxed), payload.load(std::memory_order_relaxed),
              framing.load(std::memory_order_relaxed)};
    }
  };

  static constexpr auto kAccounts = static_cast<std::size_t>(Tag::Lane::kFirstFork);
  static std::size_t cells(int ranks) { return static_cast<std::size_t>(ranks) * kAccounts; }
  static std::size_t account(Tag::Lane lane) {
    return static_cast<std::size_t>(lane < Tag::Lane::kFirstFork ? lane : Tag::Lane::kBackground);
  }
  static std::size_t index(int peer, Tag::Lane lane) {
    return static_cast<std::size_t>(peer) * kAccounts + account(lane);
  }
  Traffic total(const std::vector<Cell>& table, Tag::Lane lane) const {
    Traffic all;
    for (std::size_t i = account(lane); i < table.size(); i += kAccounts)
      if (i != index(own_, lane)) all += table[i].read();
    return all;
  }

  const int own_;
  std::vector<Cell> sent_;
  std::vector<Cell> received_;
};

}  // namespace tacit
