// SPDX-License-Identifier: MIT
#include "collectives/surviving_comm.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/star.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

class SurvivingComm final : public Comm {
 public:
  SurvivingComm(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane, std::unique_ptr<Comm> plain)
      : endpoint_(endpoint),
        plain_(std::move(plain)),
        outside_(endpoint.entry(endpoint.rank()) > 0),
        star_(endpoint, tasks, lane) {}

  int rank() const override { return plain_->rank(); }
  int size() const override { return plain_->size(); }
  Clock& clock() override { return plain_->clock(); }
  const Ledger& ledger() const override { return plain_->ledger(); }
  bool survives() const override { return true; }
  std::vector<int> living() const override {
    std::vector<int> ranks = tacit::living(endpoint_);
    if (outside_) return {rank()};
    std::erase_if(ranks, [this](int each) { return !star_.takes_part(each); });
    return ranks;
  }
  // Those too that are on their way back.
  std::vector<Loss> losses() const override {
    std::vector<Loss> all = endpoint_.losses();
    if (outside_ || !endpoint_.disturbed()) return all;
    for (const int each : tacit::living(endpoint_))
      if (!star_.takes_part(each)) all.push_back({each, endpoint_.why_lost(each)});
    std::sort(all.begin(), all.end(), [](const Loss& a, const Loss& b) { return a.rank < b.rank; });
    return all;
  }
  bool disturbed() const override { return endpoint_.disturbed(); }
  std::uint32_t entry(int of) const override { return endpoint_.entry(of); }

  bool outside() const override { return outside_; }
  std::int64_t admit(int peer, std::uint32_t entry) override {
    if (!star_.admit({peer, entry, number_}))
      throw Mismatch("rank " + std::to_string(peer) +
                     " has come back, and not all that live have met it; it has to come again");
    return number_;
  }
  void enter(std::int64_t number) override {
    number_ = number;
    star_.enter(number);
    outside_ = false;
  }

  void sum(FloatView x) override {
    together({StarOp::Kind::kSum}, bytes_of(x), [&] { plain_->sum(x); });
  }
  void mean(FloatView x) override {
    together({StarOp::Kind::kMean}, bytes_of(x), [&] { plain_->mean(x); });
  }
  Slice own_slice(std::size_t count, int rank) const override { return plain_->own_slice(count, rank); }
  void reduce_scatter(FloatView x) override {
    // The star's sum is whole; kept is the sum's form, because a peer may ask for it.
    together({StarOp::Kind::kSum}, bytes_of(x), [&] { plain_->sum(x); });
  }
  void all_gather(FloatView x) override {
    together({StarOp::Kind::kSlices}, bytes_of(x), [&] { plain_->all_gather(x); });
  }
  void broadcast(Bytes x, int root) override {
    together({StarOp::Kind::kFrom, root}, x, [&] {
      plain_->broadcast(x, root);
      // The root could be several broadcasts ahead, and the star remembers the last result only.
      plain_->barrier();
    });
  }
  void barrier() override {
    together({StarOp::Kind::kSum}, {}, [&] { plain_->barrier(); });
  }
  void all_to_all(std::span<const ConstBytes> out, const Take& take) override {
    ++number_;
    plain_->all_to_all(out, take);
  }
  void some_to_all(const std::vector<bool>& speakers, std::span<const ConstBytes> out, const Take& take,
                   Deadline deadline) override {
    ++number_;
    plain_->some_to_all(speakers, out, take, deadline);
  }

  void sum_among(std::span<const int> group, std::uint32_t number, FloatView x) override {
    plain_->sum_among(group, number, x);
  }
  std::vector<bool> swap(std::span<const Swap> with, Deadline deadline) override {
    return plain_->swap(with, deadline);
  }
  void exchange(int peer, ConstBytes out, Bytes in) override { plain_->exchange(peer, out, in); }
  std::unique_ptr<Pending> start(std::function<void(Collectives&)> fn) override {
    return plain_->start(std::move(fn));
  }
  std::unique_ptr<Pending> start_fed(std::function<void(Collectives&)> fn,
                                     std::shared_ptr<const bool> fed) override {
    return plain_->start_fed(std::move(fn), std::move(fed));
  }
  std::unique_ptr<Service> serve(Handler handler) override { return plain_->serve(std::move(handler)); }
  std::unique_ptr<Comm> fork(const std::string& name) override { return plain_->fork(name); }

 private:
  void together(StarOp op, Bytes x, const std::function<void()>& plain) {
    if (outside_) return;  // of one rank alone, a sum is what it has
    const std::int64_t number = number_++;
    before_.assign(x.begin(), x.end());
    if (!try_plain(plain)) star_.join(number, op, before_, x);
    star_.keep(number, x);
  }

  // False where a rank is lost.
  bool try_plain(const std::function<void()>& plain) {
    if (endpoint_.disturbed()) return false;
    try {
      plain();
      return true;
    } catch (const PeerLost&) {
      if (!endpoint_.here(rank())) throw;
      return false;
    }
  }

  Endpoint& endpoint_;
  const std::unique_ptr<Comm> plain_;
  std::atomic<bool> outside_;      // tasks of protocols ask who lives
  std::int64_t number_ = 0;        // collectives so far
  std::vector<std::byte> before_;  // x, for the star: a plain collective may have failed in its middle
  Star star_;
};

}  // namespace

std::unique_ptr<Comm> make_surviving_comm(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane,
                                          std::unique_ptr<Comm> plain) {
  return std::make_unique<SurvivingComm>(endpoint, tasks, lane, std::move(plain));
}

}  // namespace tacit
