// SPDX-License-Identifier: MIT
// One rank's side of the meeting, before there is a fabric.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tacit/core/text.h"
#include "tacit/transport/tcp.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/meeting_point.h"
#include "transport/tcp/reception.h"
#include "transport/tcp/rendezvous.h"

namespace tacit {

// Nobody listens where a rank did.
struct Gone : Error {
  using Error::Error;
};

// Threads  the one that runs the io_context.
class Meeting {
 public:
  Meeting(boost::asio::io_context& io, const TcpOptions& options, const TlsContext* tls);
  ~Meeting() { *here_ = false; }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  Met host();
  Met join();
  Met come_back();

 private:
  // How long it waits before it tries again, at first and at last.
  static constexpr Seconds kRetry{0.05};
  static constexpr Seconds kMostRetry{1};

  std::string me() const { return "rank " + std::to_string(options_.rank); }
  std::string limit() const { return exact(limit_.count()) + " s"; }
  void speak_in(Seconds wait);
  void waits_for(std::string what) {
    wait_ = [what = std::move(what)] { return what; };
  }
  // Sleeps and lets what goes on beside it go on.
  void rest(Seconds duration) {
    run_until(io_, clock_.now() + duration, [] { return false; });
  }
  Reception::Settings settings(bool answer_at_once) const {
    return {tls_, answer_at_once, options_.limits.report};
  }
  void require_all(Reception& reception);
  Welcome roster(Reception& reception) const;
  std::shared_ptr<Stream> reach(const MeetingPoint& point, int peer);
  std::shared_ptr<Stream> try_connect(const std::vector<boost::asio::ip::tcp::endpoint>& addresses,
                                      std::string& why);
  MeetingPoint find_host(const MeetingPoint& given);
  std::vector<boost::asio::ip::tcp::endpoint> look_up(const MeetingPoint& at, bool last, std::string& why);
  void wait_for_own_name(const MeetingPoint& point);
  struct Answer {
    Welcome welcome;
    std::uint32_t entry;  // of whoever gave it
  };
  struct Entry {
    std::shared_ptr<Stream> stream;
    Answer answer;
  };
  using PortFor = std::function<std::uint16_t(Stream&)>;  // where we listen ourselves
  Entry enter(const MeetingPoint& point, int peer, const PortFor& port);
  void shake(Stream& stream, int peer);
  Answer introduce(Stream& stream, int peer, std::uint16_t port);
  void require_same_user(Stream& stream, const std::string& them) const;
  boost::asio::ip::tcp::acceptor listen_for_peers(Stream& to_host) const;
  std::unique_ptr<Reception> receive_at(boost::asio::ip::tcp::acceptor acceptor, bool answer_at_once);
  Met all_met(std::unique_ptr<Reception> reception);
  // The ranks that are lost to this member, which has let us in.
  std::vector<int> come_back_to(const TcpMember& member, const PortFor& port);

  boost::asio::io_context& io_;
  const TcpOptions& options_;
  const TlsContext* tls_;
  RealClock clock_;
  Met met_;
  const Seconds began_;
  const Seconds limit_;
  Deadline deadline_;
  bool refused_ = false;               // by the system of every address that was tried last
  std::function<std::string()> wait_;  // for whom this rank waits, and where, for its user
  boost::asio::steady_timer word_;
  const std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  // false once this is gone
};

}  // namespace tacit
