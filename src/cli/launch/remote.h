// SPDX-License-Identifier: MIT
// The ranks of other machines: one `tacit launch --node` on each, over ssh.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/launch/children.h"
#include "cli/launch/host_file.h"
#include "cli/launch/ranks.h"
#include "cli/launch/supervisor.h"

namespace tacit::cli {

struct RemotePlan {
  Job job;                       // its rendezvous is found on the way
  std::vector<HostShare> hosts;  // the first one has rank 0
  std::vector<std::string> ssh;  // the words before the host's name
  std::string tacit;             // path of the program on the hosts
  std::string directory;         // where ranks work
};

// Starts all nodes at once. The first one is sent its job, answers with the port where rank 0 listens, and then the
// others are sent theirs. A rank is started again by the node of its host, or by another one where that is gone.
//
// Lifetime  the guard and the supervisor outlive it. Threads: the loop's.
class RemoteRanks final : public RankHost, private Watcher {
 public:
  RemoteRanks(boost::asio::io_context& loop, const Guard& guard, Supervisor& supervisor, RemotePlan plan);
  ~RemoteRanks() override;

  void start();  // throws InvalidConfig
  void signal(int number) override;
  void signal(int rank, int number) override;
  void start_again(const Return& how) override;
  std::string host_of(int rank) const override;
  // Runs the loop for the ends of the connections, after the last rank's end.
  void finish();

 private:
  class Node;

  // Of a node's connection. The id is the place of its host.
  void output(int id, Stream stream, std::string_view bytes) override;
  void ended(int id, const Ending& how) override;
  void when_room(Stream stream, std::function<void()> go_on) override;

  std::unique_ptr<Node> connect(int id, bool again);
  void send_job(Node& node);
  void take(Node& node, const std::string& line);
  void greet(Node& node, std::uint16_t port);
  void rank_ended(Node& node, int rank, const Ending& how);
  // Of this node nothing more is expected: the job ends with this sentence, or the return of a rank has failed.
  void distrust(Node& node, const std::string& why);
  // The job ends with this sentence.
  void give_up(const std::string& why);
  // A host that does not kill this rank, as it was told to, is out of reach: its connection is cut.
  void condemn(Node& node, int rank);
  void cut(Node& node);
  void cut_all_later();
  std::string why_unreachable(const Node& node, const Ending& how) const;
  // Of the ranks that ran on a host whose connection has ended.
  Ending ending_with(const Node& node, const Ending& connection) const;
  std::size_t place_of(int rank) const;

  boost::asio::io_context& loop_;
  Supervisor& supervisor_;
  RemotePlan plan_;
  boost::asio::steady_timer patience_;
  std::vector<std::unique_ptr<Node>> nodes_;   // of the hosts, in their order
  std::vector<std::unique_ptr<Node>> former_;  // handlers of theirs may still be called
  Children connections_;
  bool giving_up_ = false;
};

}  // namespace tacit::cli
