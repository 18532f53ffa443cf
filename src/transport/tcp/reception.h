// SPDX-License-Identifier: MIT
// Receives the ranks that come to this one. Strangers cost a connection for a few seconds and nothing else, and however
// many of them hold one in silence, a rank that comes gets a place.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/handshake.h"
#include "transport/tcp/lobby.h"

namespace tacit {

// Threads  the one that runs the io_context.
class Reception {
 public:
  struct Settings {
    const TlsContext* tls = nullptr;
    bool answer_at_once = false;  // else all guests are answered together, by welcome()
    std::function<void(const std::string&)> report;
  };
  Reception(boost::asio::io_context& io, boost::asio::ip::tcp::acceptor acceptor, Lobby lobby,
            Settings settings);
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  // Until all ranks are here or the deadline; says whether they are.
  bool receive_all(Deadline deadline);
  // Ranks that were lost and come back. From now on, for as long as this lives.
  struct TakeBack {
    std::uint32_t entry = 0;             // that of the rank that receives
    std::function<bool(int rank)> here;  // for those that come back: whom else they look for in vain
    // Whether it may come in now; if not, it is told to come again.
    std::function<bool(int rank, std::uint32_t entry)> may;
    std::function<void(int rank, std::uint32_t entry, std::shared_ptr<Stream> stream)> take;
  };
  void take_back(TakeBack how) { take_back_ = std::move(how); }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  // Tells all guests who is where. Afterwards their streams can be taken.
  void welcome(const Welcome& answer, Deadline deadline);
  void refuse_all(const std::string& reason, Deadline deadline);
  std::shared_ptr<Stream> take(int rank) { return std::move(seated_.at(rank)); }

  const Lobby& lobby() const { return lobby_; }
  // For an error: how many had to make room for others; empty where none had.
  std::string crowd() const;
  Stream& stream_of(int rank) { return *seated_.at(rank); }

 private:
  struct Guest;
  void accept_next();
  void accept_those_there();
  void rest(const boost::system::error_code& why);
  void greet(boost::asio::ip::tcp::socket socket, const boost::asio::ip::tcp::endpoint& from);
  void advance(const std::shared_ptr<Guest>& guest);
  bool hear(const std::shared_ptr<Guest>& guest);
  bool talk(Guest& guest);
  void admit(Guest& guest);
  void admit_again(Guest& guest, const Hello& hello, std::uint32_t entry);
  void watch(int rank);
  bool unproven(Guest& guest) const;
  std::vector<std::shared_ptr<Guest>> all_unproven(const boost::asio::ip::address* from);
  bool drop_one(const std::vector<std::shared_ptr<Guest>>& crowd);
  void send_away(const std::shared_ptr<Guest>& guest, const std::string& reason);
  bool dismiss(Guest& guest, const std::string& reason);
  std::string me() const { return "rank " + std::to_string(lobby_.host()); }

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Lobby lobby_;
  const Settings settings_;
  TakeBack take_back_;
  std::map<int, std::shared_ptr<Guest>> guests_;   // who is being talked to, by number
  std::map<int, std::shared_ptr<Stream>> seated_;  // who is in, by rank
  int next_guest_ = 0;
  int sent_away_ = 0;
  int dropped_ = 0;           // to make room
  std::string last_dropped_;  // its address
  boost::asio::steady_timer rest_;
  bool rested_ = false;     // and said so
  bool accepting_ = false;  // or resting
  std::shared_ptr<bool> here_ =
      std::make_shared<bool>(true);  // false once this is gone: handlers may come later
};

}  // namespace tacit
