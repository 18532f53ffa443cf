// SPDX-License-Identifier: MIT
// What a message is about. Two messages match when their tags are equal.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace tacit {

// Layout, highest bits first: channel:8 | lane:8 | step:32 | part:16.
class Tag {
 public:
  enum class Channel : std::uint8_t {
    kAllReduce = 1,
    kReduceScatter,
    kAllGather,
    kBroadcast,
    kBarrier,
    kExchange,
    kRequest,      // to an agent: what is wanted; step is the service
    kRequestBody,  // to an agent: the data that goes with it; step is the caller's ticket
    kReply,        // from an agent; step is the caller's ticket
    kAllToAll,
    kGroup,  // a sum among some ranks; step is their number for it
  };
  // Exchanges that run side by side on one rank use different lanes, so that they can never be taken for
  // one another. The byte ledger counts each lane apart.
  enum class Lane : std::uint8_t {
    kTrain,       // the trainer and the agents of its strategy
    kBackground,  // what Background::start runs
    kControl,     // evaluation and bookkeeping: not part of what an algorithm costs
    kFirstFork,   // from here on: two for each Comm::fork, its own and that of its background
  };
  static constexpr int kForks = 126;
  static constexpr int kLanes = static_cast<int>(Lane::kFirstFork) + 2 * kForks;
  static constexpr int kChannels = 11;

  constexpr Tag(Channel channel, Lane lane, std::uint32_t step, std::uint16_t part = 0)
      : bits_(std::uint64_t{static_cast<std::uint8_t>(channel)} << 56U |
              std::uint64_t{static_cast<std::uint8_t>(lane)} << 48U | std::uint64_t{step} << 16U | part) {}

  // That of the n-th fork; its background has the next.
  static constexpr Lane fork_lane(int n) {
    return static_cast<Lane>(static_cast<int>(Lane::kFirstFork) + 2 * n);
  }

  // What bits() gave; nothing for bits that no tag has.
  static constexpr std::optional<Tag> from_bits(std::uint64_t bits) {
    const std::uint64_t channel = bits >> 56U;
    const std::uint64_t lane = (bits >> 48U) & 0xFFU;
    if (channel < 1 || channel > kChannels || lane >= kLanes) return std::nullopt;
    return Tag(static_cast<Channel>(channel), static_cast<Lane>(lane),
               static_cast<std::uint32_t>(bits >> 16U), static_cast<std::uint16_t>(bits));
  }

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr Channel channel() const { return static_cast<Channel>(bits_ >> 56U); }
  constexpr Lane lane() const { return static_cast<Lane>((bits_ >> 48U) & 0xFFU); }
  constexpr std::uint32_t step() const { return static_cast<std::uint32_t>(bits_ >> 16U); }
  constexpr std::uint16_t part() const { return static_cast<std::uint16_t>(bits_); }

  std::string text() const;  // "all-reduce 17, part 2"
  // Whether it belongs to an exchange of several ranks, which one of them may leave when another is lost.
  constexpr bool is_collective() const {
    return channel() <= Channel::kBarrier || channel() >= Channel::kAllToAll;
  }

  // Whether it belongs to what the user of a Comm does itself, and not to a call, a post or an agent.
  constexpr bool is_exchange() const { return is_collective() || channel() == Channel::kExchange; }

  friend constexpr auto operator<=>(const Tag&, const Tag&) = default;

 private:
  std::uint64_t bits_;
};

static_assert(Tag(Tag::Channel::kReply, Tag::Lane::kControl, 0xFFFFFFFFU, 7).part() == 7);
static_assert(Tag(Tag::Channel::kReply, Tag::Lane::kControl, 0xFFFFFFFFU, 7).step() == 0xFFFFFFFFU);

}  // namespace tacit
