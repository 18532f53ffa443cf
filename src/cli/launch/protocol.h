// SPDX-License-Identifier: MIT
// What a launcher and the nodes on its hosts say to each other: one JSON object per line. The launcher writes to a
// node's stdin, the node answers on its stdout. Bytes of any value travel in strings, byte b as the character U+00b.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "cli/launch/ranks.h"

namespace tacit::cli {

// The launcher's first line.
struct NodeJob {
  Job job;  // without a rendezvous for the node of rank 0, which finds the port
  Share share;
  std::string directory;
  std::string host;    // of rank 0, as the ranks reach it
  bool starts = true;  // the ranks; a node that comes after another one starts those that it is told to
};
std::string to_line(const NodeJob& job);
// Throws InvalidConfig, without a word of what the line holds: the key is in it.
NodeJob parse_job(const std::string& line);

// The launcher's other lines: a signal for the node's ranks, or for one of them, and a rank to be started again.
struct SignalOrder {
  int number = 0;
  std::optional<int> rank{};
};
using NodeOrder = std::variant<SignalOrder, Return>;
std::string to_line(const NodeOrder& order);
// Nothing where the line is no such order.
std::optional<NodeOrder> parse_order(const std::string& line);

// The node's lines, each shorter than kLongestMessage.
constexpr std::size_t kLongestMessage = std::size_t{64} << 10U;
constexpr std::size_t kMostBytes = std::size_t{8}
                                   << 10U;  // of output in one: any of them may take six as JSON
struct Hello {
  std::uint16_t port = 0;  // where rank 0 listens; 0 on the other nodes
};
struct RankOutput {
  int rank = 0;
  Stream stream = Stream::kOut;
  std::string bytes;
};
struct RankNoted {
  int rank = 0;  // of any host
  LauncherNote note = LauncherNote::kNone;
  std::uint16_t port = 0;
};
struct RankEnded {
  int rank = 0;
  Ending how;
};
struct Refusal {
  std::string why;
};
using NodeMessage = std::variant<Hello, RankOutput, RankNoted, RankEnded, Refusal>;
std::string to_line(const NodeMessage& message);
// Nothing where the line is no such message.
std::optional<NodeMessage> parse_message(const std::string& line);

}  // namespace tacit::cli
