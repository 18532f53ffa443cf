// SPDX-License-Identifier: MIT
#include "cli/launch/remote.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "cli/launch/lines.h"
#include "cli/launch/output.h"
#include "cli/launch/protocol.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;

// Longer than a node takes from SIGTERM to SIGKILL.
constexpr std::chrono::seconds kForNodesToEnd{10};
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

// One word for the remote shell, whatever is in it.
std::string shell_word(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool ends_programs(int number) { return number != SIGUSR1 && number != SIGUSR2; }

}  // namespace

class RemoteRanks::Node {
 public:
  Node(asio::io_context& loop, int index, HostShare place, UniqueFd input)
      : id(index),
        host(std::move(place.host)),
        share(place.share),
        patience(loop),
        to(loop, std::move(input), {}),
        notes("[" + host + "] ") {}

  const int id;
  const std::string host;
  const Share share;
  asio::steady_timer patience;        // for its condemned ranks
  Output to;                          // its stdin
  LineCutter lines{kLongestMessage};  // of its stdout
  LinePrefixer notes;                 // its stderr, and what a login shell prints
  std::set<int> running;
  std::set<int> condemned;  // ranks that are to be killed
  std::string trouble;      // why nothing more is expected of it
  bool again = false;       // came after one that is gone
  bool there = false;       // has said hello
  bool cut = false;         // by us
  bool gone = false;        // its connection has ended
};

RemoteRanks::RemoteRanks(asio::io_context& loop, const Guard& guard, Supervisor& supervisor, RemotePlan plan)
    : loop_(loop),
      supervisor_(supervisor),
      plan_(std::move(plan)),
      patience_(loop),
      connections_(loop, guard, *this) {}

RemoteRanks::~RemoteRanks() = default;

void RemoteRanks::start() {
  for (std::size_t id = 0; id < plan_.hosts.size(); ++id)
    nodes_.push_back(connect(static_cast<int>(id), false));
  send_job(*nodes_.front());
}

std::unique_ptr<RemoteRanks::Node> RemoteRanks::connect(int id, bool again) {
  const HostShare& place = plan_.hosts[static_cast<std::size_t>(id)];
  Pipe input = make_pipe();
  auto node = std::make_unique<Node>(loop_, id, place, std::move(input.write));
  node->again = again;
  for (int k = 0; k < place.share.count && !again; ++k) node->running.insert(place.share.first + k);
  SpawnPlan plan{plan_.ssh, current_environment(), {}};
  plan.command.insert(plan.command.end(), {place.host, shell_word(plan_.tacit), "launch", "--node"});
  connections_.start(id, std::move(plan), input.read.get());
  return node;
}

void RemoteRanks::send_job(Node& node) {
  node.to.write(
      to_line(NodeJob{plan_.job, node.share, plan_.directory, plan_.hosts.front().host, !node.again}));
}

void RemoteRanks::start_again(const Return& how) {
  auto& node = nodes_[place_of(how.rank)];
  if (node->gone) {
    auto fresh = connect(node->id, true);
    former_.push_back(std::exchange(node, std::move(fresh)));
    send_job(*node);
  }
  node->running.insert(how.rank);
  node->to.write(to_line(how));
}

void RemoteRanks::output(int id, Stream stream, std::string_view bytes) {
  Node& node = *nodes_[static_cast<std::size_t>(id)];
  if (stream == Stream::kErr) return supervisor_.show(node.notes.take(bytes));
  node.lines.take(bytes, [&](const std::string& line) { take(node, line); });
}

void RemoteRanks::when_room(Stream /*stream*/, std::function<void()> go_on) {
  // A node's stdout carries both streams of its ranks.
  supervisor_.when_room(Stream::kOut, [this, go_on = std::move(go_on)]() mutable {
    supervisor_.when_room(Stream::kErr, std::move(go_on));
  });
}

void RemoteRanks::take(Node& node, const std::string& line) {
  const auto message = parse_message(line);
  if (!message && !node.there) return supervisor_.show(node.notes.take(line + "\n"));
  if (!message)
    return distrust(
        node,
        fmt::format("host {} sent what is no message of tacit launch; install the same Tacit on all hosts",
                    node.host));
  if (const auto* hello = std::get_if<Hello>(&*message)) return greet(node, hello->port);
  if (const auto* refusal = std::get_if<Refusal>(&*message))
    return distrust(node, fmt::format("host {}: {}", node.host, refusal->why));
  if (const auto* ended = std::get_if<RankEnded>(&*message)) return rank_ended(node, ended->rank, ended->how);
  if (const auto* noted = std::get_if<RankNoted>(&*message)) {
    if (noted->rank >= 0 && noted->rank < plan_.job.size)
      supervisor_.noted(noted->rank, noted->note, noted->port);
    return;
  }
  const auto& output = std::get<RankOutput>(*message);
  if (node.running.contains(output.rank)) supervisor_.output(output.rank, output.stream, output.bytes);
}

void RemoteRanks::greet(Node& node, std::uint16_t port) {
  node.there = true;
  if (node.id != 0 || node.again) return;
  plan_.job.rendezvous = rendezvous_at(node.host, port);
  for (const auto& other : nodes_)
    if (other->id != 0 && !other->cut) send_job(*other);
}

void RemoteRanks::rank_ended(Node& node, int rank, const Ending& how) {
  if (node.running.erase(rank) != 0) supervisor_.ended(rank, how);
}

void RemoteRanks::ended(int id, const Ending& how) {
  Node& node = *nodes_[static_cast<std::size_t>(id)];
  supervisor_.show(node.notes.finish());
  node.to.close();
  node.gone = true;
  if (!node.there && !node.cut && !node.again) give_up(why_unreachable(node, how));
  for (const int rank : std::exchange(node.running, {})) supervisor_.ended(rank, ending_with(node, how));
}

Ending RemoteRanks::ending_with(const Node& node, const Ending& connection) const {
  const std::string how = describe(plan_.ssh.front(), connection);
  if (!node.trouble.empty()) return Ending::lost(node.trouble);
  if (node.there) return Ending::lost(fmt::format("the connection to host {} ended ({})", node.host, how));
  if (node.cut || !node.again) return Ending::not_started();
  return Ending::lost(fmt::format("host {} could not be reached again ({})", node.host, how));
}

std::string RemoteRanks::why_unreachable(const Node& node, const Ending& how) const {
  if (how == Ending::exited(kNotFound) || how == Ending::exited(kNotExecutable))
    return fmt::format(
        "host {} cannot run {} (exit code {}); give the path of the program there with --remote-tacit",
        node.host, plan_.tacit, how.value);
  return fmt::format("host {} could not be reached: {}; see whether `{} {}` works by itself", node.host,
                     describe(plan_.ssh.front(), how), fmt::join(plan_.ssh, " "), node.host);
}

void RemoteRanks::signal(int number) {
  for (const auto& node : nodes_) {
    if (node->there)
      node->to.write(to_line(SignalOrder{number}));
    else if (ends_programs(number))
      cut(*node);
  }
  if (number == SIGKILL) cut_all_later();
}

void RemoteRanks::signal(int rank, int number) {
  Node& node = *nodes_[place_of(rank)];
  if (!node.running.contains(rank)) return;
  if (node.there)
    node.to.write(to_line(SignalOrder{number, rank}));
  else if (node.again && ends_programs(number))
    cut(node);
  if (number == SIGKILL) condemn(node, rank);
}

std::size_t RemoteRanks::place_of(int rank) const {
  const auto has_it = [&](const HostShare& place) { return rank < place.share.first + place.share.count; };
  const auto place = std::find_if(plan_.hosts.begin(), plan_.hosts.end(), has_it);
  return static_cast<std::size_t>(place - plan_.hosts.begin());
}

std::string RemoteRanks::host_of(int rank) const { return plan_.hosts[place_of(rank)].host; }

void RemoteRanks::condemn(Node& node, int rank) {
  node.condemned.insert(rank);
  node.patience.expires_after(kForNodesToEnd);
  node.patience.async_wait([this, &node](boost::system::error_code error) {
    const bool deaf = std::any_of(node.condemned.begin(), node.condemned.end(),
                                  [&](int each) { return node.running.contains(each); });
    if (!error && deaf) connections_.signal(node.id, SIGKILL);
  });
}

void RemoteRanks::cut(Node& node) {
  node.cut = true;
  node.to.close();
  connections_.signal(node.id, SIGTERM);
}

void RemoteRanks::distrust(Node& node, const std::string& why) {
  if (!node.again) return give_up(why);
  node.trouble = why;
  cut(node);
}

void RemoteRanks::give_up(const std::string& why) {
  supervisor_.abandon(why);
  if (std::exchange(giving_up_, true)) return;
  for (const auto& node : nodes_) node->there ? node->to.close() : cut(*node);
  cut_all_later();
}

void RemoteRanks::cut_all_later() {
  patience_.expires_after(kForNodesToEnd);
  patience_.async_wait([this](boost::system::error_code error) {
    if (!error) connections_.signal(SIGKILL);
  });
}

void RemoteRanks::finish() {
  for (const auto& node : nodes_) node->to.close();
  cut_all_later();
  loop_.restart();
  while (connections_.any() && loop_.run_one() > 0) {
  }
}

}  // namespace tacit::cli
