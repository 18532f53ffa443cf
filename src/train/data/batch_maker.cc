// SPDX-License-Identifier: MIT
#include "train/data/batch_maker.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace tacit {
namespace {

constexpr std::size_t kMostFloats = std::size_t{1} << 28;  // 1 GiB of batches that nobody has asked for yet
constexpr std::size_t kSpares = 4;
// What was expected and is not asked for before so many other batches was for a rank that is gone. More than two for
// each rank of the largest world of threads.
constexpr std::uint64_t kPatience = 4096;

}  // namespace

BatchMaker::BatchMaker(ImageShape shape, int threads, Fill fill)
    : shape_(shape), wanted_threads_(static_cast<std::size_t>(threads)), fill_(std::move(fill)) {}

BatchMaker::~BatchMaker() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
}

void BatchMaker::gather(const Wanted& wanted, Batch& out) {
  const OrderRef order = claim(wanted);
  while (make_slot(*order)) {
  }
  const MutexLock lock(mutex_);
  while (order->done < order->begun) done_.wait(mutex_);
  orders_.remove(order);
  if (order->error) {
    order->begun = order->indices.size();  // nobody begins more of it
    // Taken out of it: a thread that still holds the order is not the last to hold what its caller is looking at.
    std::rethrow_exception(std::exchange(order->error, nullptr));
  }
  std::swap(out, order->batch);
  if (spare_.size() < kSpares) spare_.push_back(std::move(order->batch));
}

void BatchMaker::expect(const Wanted& wanted) {
  {
    const MutexLock lock(mutex_);
    if (!has_room_for(wanted.indices.size()) || find(wanted)) return;
  }
  const OrderRef order = make_order(wanted);
  {
    const MutexLock lock(mutex_);
    order->born = gathered_;
    orders_.push_back(order);
    start_threads();
  }
  work_.notify_all();
}

BatchMaker::OrderRef BatchMaker::make_order(const Wanted& wanted) {
  auto order = std::make_shared<Order>();
  {
    const MutexLock lock(mutex_);
    if (!spare_.empty()) {
      order->batch = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  order->indices.assign(wanted.indices.begin(), wanted.indices.end());
  order->epoch = wanted.epoch;
  order->seed = wanted.seed;
  order->batch.shape = shape_;
  order->batch.images.resize(wanted.indices.size() * shape_.size());
  order->batch.labels.resize(wanted.indices.size());
  return order;
}

// The one that was expected, or a new one.
BatchMaker::OrderRef BatchMaker::claim(const Wanted& wanted) {
  {
    const MutexLock lock(mutex_);
    ++gathered_;
    orders_.remove_if(
        [now = gathered_](const OrderRef& each) { return !each->claimed && now - each->born > kPatience; });
    if (OrderRef order = find(wanted)) {
      order->claimed = true;
      return order;
    }
  }
  OrderRef order = make_order(wanted);
  order->claimed = true;
  {
    const MutexLock lock(mutex_);
    orders_.push_back(order);
    start_threads();
  }
  work_.notify_all();
  return order;
}

// One that somebody waits for is that one's alone: who wants the same makes another.
BatchMaker::OrderRef BatchMaker::find(const Wanted& wanted) const {
  const auto found = std::find_if(orders_.begin(), orders_.end(), [&](const OrderRef& each) {
    return !each->claimed && each->epoch == wanted.epoch && each->seed == wanted.seed &&
           std::equal(each->indices.begin(), each->indices.end(), wanted.indices.begin(),
                      wanted.indices.end());
  });
  return found == orders_.end() ? nullptr : *found;
}

bool BatchMaker::has_room_for(std::size_t samples) const {
  for (const OrderRef& each : orders_)
    if (!each->claimed) samples += each->indices.size();
  return samples * shape_.size() <= kMostFloats;
}

void BatchMaker::start_threads() {
  if (std::exchange(started_, true)) return;
  try {
    while (threads_.size() < wanted_threads_) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    // With fewer it takes longer: who asks for a batch makes of it what they do not.
  }
}

// What somebody waits for goes first. Nothing, where all ends.
BatchMaker::OrderRef BatchMaker::next_order() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    OrderRef next;
    for (const OrderRef& each : orders_)
      if (each->has_more() && (!next || (each->claimed && !next->claimed))) next = each;
    if (next) return next;
    work_.wait(mutex_);
  }
  return nullptr;
}

std::optional<std::size_t> BatchMaker::begin_slot(Order& order) {
  const MutexLock lock(mutex_);
  if (!order.has_more()) return std::nullopt;
  return order.begun++;
}

bool BatchMaker::make_slot(Order& order) {
  const std::optional<std::size_t> slot = begin_slot(order);
  if (!slot) return false;
  std::exception_ptr error;
  try {
    fill_(order.wanted(), *slot, order.batch);
  } catch (...) {
    error = std::current_exception();
  }
  bool ready = false;
  {
    const MutexLock lock(mutex_);
    ++order.done;
    if (error && !order.error) order.error = std::move(error);
    ready = order.claimed && order.done == order.begun;
  }
  if (ready) done_.notify_all();
  return true;
}

void BatchMaker::run() {
  pthread_setname_np(pthread_self(), "tacit-data");
  while (const OrderRef order = next_order()) make_slot(*order);
}

}  // namespace tacit
