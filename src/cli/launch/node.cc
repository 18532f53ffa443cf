// SPDX-License-Identifier: MIT
#include "cli/launch/node.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "cli/launch/lines.h"
#include "cli/launch/output.h"
#include "cli/launch/protocol.h"
#include "cli/launch/reader.h"
#include "core/exit_code.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kLongestOrder = std::size_t{16} << 20U;  // more than a command line may have
constexpr std::chrono::seconds kFromTermToKill{5};
constexpr std::chrono::seconds kForWhatIsToBeSaid{2};

class Node final : public Watcher {
 public:
  explicit Node(const Guard& guard)
      : out_(loop_, duplicate(STDOUT_FILENO), [this](const std::string&) { end_ranks(); }),
        in_(loop_, duplicate(STDIN_FILENO),
            {[this](std::string_view bytes) { take(bytes); }, [this] { end_ranks(); },
             [](const std::function<void()>& go_on) { go_on(); }}),
        signals_(loop_, SIGINT, SIGTERM, SIGHUP),
        patience_(loop_),
        children_(loop_, guard, *this) {}

  int run() {
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (!error) end_ranks();
    });
    in_.start();
    loop_.run();
    return code_;
  }

  void output(int rank, Stream stream, std::string_view bytes) override {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMostBytes)))
      tell(RankOutput{rank, stream, std::string(bytes.substr(0, kMostBytes))});
  }
  void noted(int rank, LauncherNote note, std::uint16_t port) override { tell(RankNoted{rank, note, port}); }
  void ended(int rank, const Ending& how) override {
    tell(RankEnded{rank, how});
    if (--left_ == 0 && (!stays_ || ending_)) leave();
  }
  void when_room(Stream /*stream*/, std::function<void()> go_on) override {
    out_.when_room(std::move(go_on));
  }

 private:
  void tell(const NodeMessage& message) { out_.write(to_line(message)); }

  void take(std::string_view bytes) {
    lines_.take(bytes, [this](const std::string& line) {
      if (refused_) return;
      if (started_) {
        if (const auto order = parse_order(line))
          std::visit([this](const auto& kind) { obey(kind); }, *order);
        return;
      }
      try {
        start(parse_job(line));
      } catch (const InvalidConfig& error) {
        refuse(error.what());
      }
    });
  }

  void obey(const SignalOrder& order) {
    order.rank ? children_.signal(*order.rank, order.number) : children_.signal(order.number);
  }
  void obey(const Return& how) {
    if (ending_ || !ranks_) return;
    ++left_;
    try {
      ranks_->start_again(how);
    } catch (const InvalidConfig& error) {
      ended(how.rank, Ending::not_started(error.what()));
    }
  }

  void start(NodeJob job) {
    started_ = true;
    if (::chdir(job.directory.c_str()) != 0)
      throw InvalidConfig("cannot work in the folder " + job.directory + " of the launcher: " +
                          std::strerror(errno) + "; start from a folder that exists on all hosts");
    stays_ = job.job.restarts;
    Listener listener;
    if (job.share.first == 0 && job.starts) {
      listener = listen_everywhere();
      job.job.rendezvous = rendezvous_at(job.host, listener.port);
    }
    tell(Hello{listener.port});
    ranks_.emplace(children_, std::move(job.job), job.share);
    if (!job.starts) return;
    left_ = job.share.count;
    const UniqueFd null = open_null();
    ranks_->start(std::move(listener.socket), null.get());
  }

  // Ranks that were started before the error are killed when this object goes.
  void refuse(const std::string& why) {
    refused_ = true;
    code_ = ExitCode::kBadInput;
    tell(Refusal{why});
    leave();
  }

  // Nobody is left to be told.
  void end_ranks() {
    if (std::exchange(ending_, true)) return;
    if (left_ == 0) return leave();
    children_.signal(SIGTERM);
    patience_.expires_after(kFromTermToKill);
    patience_.async_wait([this](boost::system::error_code error) {
      if (!error) children_.signal(SIGKILL);
    });
  }

  void leave() {
    out_.when_empty([this] { loop_.stop(); });
    if (!ending_) return;
    patience_.expires_after(kForWhatIsToBeSaid);
    patience_.async_wait([this](boost::system::error_code) { loop_.stop(); });
  }

  asio::io_context loop_{1};
  Output out_;
  Reader in_;
  asio::signal_set signals_;
  asio::steady_timer patience_;
  Children children_;
  std::optional<LocalRanks> ranks_;  // once the job is known
  LineCutter lines_{kLongestOrder};
  int left_ = 0;  // ranks
  bool stays_ = false;
  bool started_ = false;
  bool refused_ = false;
  bool ending_ = false;  // the ranks, because the launcher is gone
  int code_ = 0;
};

}  // namespace

int run_node() {
  hide_inherited();
  ignore_broken_pipes();
  const Guard guard;  // before the key is in this process
  return Node(guard).run();
}

}  // namespace tacit::cli
