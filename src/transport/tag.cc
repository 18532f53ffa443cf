// SPDX-License-Identifier: MIT
#include "tacit/transport/tag.h"

namespace tacit {
namespace {

const char* name(Tag::Channel channel) {
  switch (channel) {
    case Tag::Channel::kAllReduce:
      return "all-reduce";
    case Tag::Channel::kReduceScatter:
      return "reduce-scatter";
    case Tag::Channel::kAllGather:
      return "all-gather";
    case Tag::Channel::kBroadcast:
      return "broadcast";
    case Tag::Channel::kBarrier:
      return "barrier";
    case Tag::Channel::kExchange:
      return "exchange";
    case Tag::Channel::kRequest:
      return "request to service";
    case Tag::Channel::kRequestBody:
      return "body of request";
    case Tag::Channel::kReply:
      return "reply to request";
    case Tag::Channel::kAllToAll:
      return "all-to-all";
    case Tag::Channel::kGroup:
      return "group sum";
  }
  return "unknown channel";
}

std::string name(Tag::Lane lane) {
  switch (lane) {
    case Tag::Lane::kTrain:
      return "";
    case Tag::Lane::kBackground:
      return "background ";
    case Tag::Lane::kControl:
      return "control ";
    default: {
      const int fork = static_cast<int>(lane) - static_cast<int>(Tag::Lane::kFirstFork);
      return (fork % 2 == 0 ? "fork " : "background of fork ") + std::to_string(fork / 2) + " ";
    }
  }
}

}  // namespace

std::string Tag::text() const {
  return name(lane()) + name(channel()) + " " + std::to_string(step()) + ", part " + std::to_string(part());
}

}  // namespace tacit
