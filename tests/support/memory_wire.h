// SPDX-License-Identifier: MIT
// A link between two wires within one thread. Nothing on it happens by itself: somebody decides when and how many bytes
// move, and when a wire's owner is told that it is ready. As on a socket, an end takes what fits into its window, gives
// what has arrived or less of it, tells each wait for what is ready in the end, and may tell one for nothing.
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "tacit/core/rng.h"
#include "transport/tcp/wire.h"

namespace tacit::test {

// One direction of a link.
struct MemoryPipe {
  std::vector<std::byte> sent;     // taken from the writer and under way
  std::vector<std::byte> arrived;  // for the reader
  std::size_t window = 0;          // of each
  bool ended = false;              // the writer writes no more
  bool end_arrived = false;
  bool cut = false;  // the reader reads no more

  bool moves() const {
    return sent.empty() ? ended && !end_arrived : arrived.size() < window && !end_arrived;
  }
  // At most so many bytes; the end where there are none left.
  void move(std::size_t most) {
    if (sent.empty()) {
      end_arrived = ended;
      return;
    }
    const auto count = static_cast<std::ptrdiff_t>(std::min({most, sent.size(), window - arrived.size()}));
    arrived.insert(arrived.end(), sent.begin(), sent.begin() + count);
    sent.erase(sent.begin(), sent.begin() + count);
  }
};

class MemoryWire final : public Wire {
 public:
  using Pipe = std::shared_ptr<MemoryPipe>;
  MemoryWire(boost::asio::io_context& io, Rng& rng, Pipe out, Pipe in)
      : io_(io), rng_(rng), out_(std::move(out)), in_(std::move(in)) {}

  Result read(Bytes first, Bytes second, std::size_t& count) override {
    if (in_->arrived.empty()) return in_->end_arrived || in_->cut ? Result::kClosed : Result::kAgain;
    const std::size_t most = std::min(first.size() + second.size(), in_->arrived.size());
    count = some_of(most);
    const std::size_t direct = std::min(count, first.size());
    copy<std::byte>(ConstBytes(in_->arrived).first(direct), first.first(direct));
    copy<std::byte>(ConstBytes(in_->arrived).subspan(direct, count - direct), second.first(count - direct));
    in_->arrived.erase(in_->arrived.begin(), in_->arrived.begin() + static_cast<std::ptrdiff_t>(count));
    return Result::kDone;
  }

  Result write(std::span<const ConstBytes> parts, std::size_t& count) override {
    count = 0;
    if (out_->ended || out_->cut) return Result::kFailed;
    std::size_t total = 0;
    for (const ConstBytes part : parts) total += part.size();
    const std::size_t room = out_->window - std::min(out_->window, out_->sent.size());
    std::size_t rest = count = std::min(room, some_of(std::min(total, room)));
    for (const ConstBytes part : parts) {
      const ConstBytes taken = part.first(std::min(rest, part.size()));
      out_->sent.insert(out_->sent.end(), taken.begin(), taken.end());
      rest -= taken.size();
    }
    return count == total ? Result::kDone : Result::kAgain;
  }

  std::string read_why() const override { return "cut"; }
  std::string write_why() const override { return "cut"; }

  void wait(Ready what, WhenReady then) override { waits(what).push_back(std::move(then)); }
  void cancel() override {
    for (auto& each : waits_)
      for (WhenReady& then : std::exchange(each, {}))
        boost::asio::post(io_, [then = std::move(then)] { then(false); });
  }
  boost::asio::any_io_executor executor() override { return io_.get_executor(); }

  void shut_down() override {
    finish_writing();
    in_->cut = true;
    in_->sent.clear();
    in_->arrived.clear();
    out_->sent.clear();  // as when a process is killed with bytes unsent
  }
  void finish_writing() override { out_->ended = true; }
  void close() override {
    shut_down();
    cancel();
  }
  bool all_arrived() const override { return out_->sent.empty(); }
  boost::asio::ip::tcp::endpoint local() const override { return {}; }
  boost::asio::ip::tcp::endpoint remote() const override { return {}; }

  // For whoever decides what happens.
  bool waits_for(Ready what) { return !waits(what).empty(); }
  bool ready(Ready what) const {
    if (what == Ready::kRead) return !in_->arrived.empty() || in_->end_arrived || in_->cut;
    return out_->sent.size() < out_->window || out_->ended || out_->cut;
  }
  void tell(Ready what) {
    WhenReady then = std::move(waits(what).front());
    waits(what).erase(waits(what).begin());
    boost::asio::post(io_, [then = std::move(then)] { then(true); });
  }

 private:
  std::vector<WhenReady>& waits(Ready what) { return waits_[static_cast<std::size_t>(what)]; }
  // Mostly all; else fewer, and at least one where there is one.
  std::size_t some_of(std::size_t most) {
    return most == 0 || rng_.below(3) != 0 ? most : 1 + rng_.below(most);
  }

  boost::asio::io_context& io_;
  Rng& rng_;
  const Pipe out_;
  const Pipe in_;
  std::array<std::vector<WhenReady>, 2> waits_;
};

// Both wires, and their pipes.
struct MemoryLink {
  std::array<std::shared_ptr<MemoryPipe>, 2> pipes{std::make_shared<MemoryPipe>(),
                                                   std::make_shared<MemoryPipe>()};
  std::array<std::unique_ptr<MemoryWire>, 2> wires;

  MemoryLink(boost::asio::io_context& a, boost::asio::io_context& b, Rng& rng)
      : wires{std::make_unique<MemoryWire>(a, rng, pipes[0], pipes[1]),
              std::make_unique<MemoryWire>(b, rng, pipes[1], pipes[0])} {}
};

}  // namespace tacit::test
