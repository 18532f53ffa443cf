// SPDX-License-Identifier: MIT
#include "transport/tcp/peer_links.h"

#include <algorithm>
#include <utility>

#include "transport/tcp/ring_memory.h"

namespace tacit {

Link& PeerLinks::add(int peer, std::shared_ptr<Stream> stream, std::unique_ptr<PeerMemory> memory) {
  const Offers::Rank me{inbox_,
                        ledger_,
                        *owner_,
                        calls_.fail,
                        options_.rank,
                        ring_bytes(local_),
                        most_by_ring(local_),
                        calls_.lacks_ring};
  all_.push_back(std::make_unique<Link>(*owner_, me, peer, std::move(stream), std::move(memory)));
  now_[static_cast<std::size_t>(peer)].store(all_.back().get());
  return *all_.back();
}

void PeerLinks::open(ConnectionOwner& owner, Calls calls, std::vector<std::shared_ptr<Stream>> streams) {
  owner_ = &owner;
  calls_ = std::move(calls);
  std::vector<std::unique_ptr<PeerMemory>> memories(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (streams[i]) memories[i] = reach_memory(options_, *streams[i]);
  const auto local =
      memories.size() - static_cast<std::size_t>(std::count(memories.begin(), memories.end(), nullptr));
  local_ = static_cast<int>(1 + local);
  for (std::size_t i = 0; i < streams.size(); ++i)
    if (streams[i]) add(static_cast<int>(i), std::move(streams[i]), std::move(memories[i]));
  for (const auto& link : all_) link->start();
}

Link& PeerLinks::replace(int peer, std::shared_ptr<Stream> stream) {
  Link* const before = at(peer);
  auto memory = reach_memory(options_, *stream);
  Link& link = add(peer, std::move(stream), std::move(memory));
  if (before != nullptr) {
    before->connection.supersede();
    before->offers.supersede();
  }
  return link;
}

}  // namespace tacit
