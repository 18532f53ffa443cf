// SPDX-License-Identifier: MIT
#include "sim/network.h"

#include <simgrid/kernel/Timer.hpp>
#include <utility>

#include "tacit/core/error.h"

namespace tacit::sim {

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

Network::Network(std::vector<s4u::Host*> hosts) : hosts_(std::move(hosts)) {
  for (s4u::Link* link : s4u::Engine::get_instance()->get_all_links()) {
    latencies_.emplace(link, link->get_latency());
    link->set_latency(0);
  }
  s4u::Activity::on_completion_cb([this](const s4u::Activity& activity) {
    const auto found = flows_.find(&activity);
    if (found == flows_.end()) return;
    Stream& stream = *found->second;
    flows_.erase(found);
    on_left(stream);
  });
}

void Network::send(int from, int to, std::uint64_t bytes, std::function<void()> fn) {
  Stream& line = stream(from, to);
  line.waiting.push_back({bytes, std::move(fn)});
  if (line.waiting.size() == 1) begin(line);
}

Network::Stream& Network::stream(int from, int to) {
  const std::uint64_t key = static_cast<std::uint64_t>(from) * hosts_.size() + static_cast<std::uint64_t>(to);
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  return streams_.emplace(key, Stream{host(from), host(to), latency(*host(from), *host(to))}).first->second;
}

double Network::latency(const s4u::Host& from, const s4u::Host& to) const {
  std::vector<s4u::Link*> links;
  double none = 0;
  from.route_to(&to, links, &none);
  if (links.empty())
    throw InvalidConfig("the platform file has no route from host " + from.get_name() + " to host " +
                        to.get_name() + "; add one, because every worker talks to every other");
  double sum = 0;
  for (const s4u::Link* link : links) sum += latencies_.at(link);
  return sum;
}

void Network::begin(Stream& stream) {
  stream.flow =
      s4u::Comm::sendto_init(stream.from, stream.to)->set_payload_size(stream.waiting.front().bytes);
  flows_.emplace(stream.flow.get(), &stream);
  stream.flow->start();
}

void Network::on_left(Stream& stream) {
  // SimGrid tells us from within the flow that has ended, and looks at it afterwards: it lives until that is over.
  s4u::CommPtr ended = std::move(stream.flow);
  stream.flying.push_back(std::move(stream.waiting.front().fn));
  stream.waiting.pop_front();
  if (!stream.waiting.empty()) begin(stream);
  Timer::set(s4u::Engine::get_clock() + stream.latency, [&stream, ended = std::move(ended)] {
    const std::function<void()> arrived = std::move(stream.flying.front());
    stream.flying.pop_front();
    arrived();
  });
}

}  // namespace tacit::sim
