// SPDX-License-Identifier: MIT
// The newest whole copy of a vector that one task changes and others read.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tacit/core/buffer.h"
#include "tacit/core/tasks.h"

namespace tacit {

// A reader never sees half of one version and half of another, and never waits for a copy that is being made: it keeps
// the version that it got for as long as it reads.
//
// Memory   two copies, and one more for every reader that holds an old version meanwhile. They are used again.
// Threads  publish() by one task at a time, latest() by any of the rank.
class Snapshot {
 public:
  struct Copy {
    explicit Copy(FloatView of) : x(of) {}
    std::int64_t version = 0;
    Buffer x;
  };

  // Nothing is published yet; copies are like `of`.
  Snapshot(Tasks& tasks, FloatView of) : shelf_(std::make_shared<Shelf>(tasks.make_monitor())), of_(of) {}

  void publish(ConstFloatView x, std::int64_t version) {
    std::unique_ptr<Copy> copy = shelf_->take();
    if (!copy) copy = std::make_unique<Copy>(of_);
    copy->version = version;
    copy->x.take(x);
    std::shared_ptr<Copy> next(copy.release(),
                               [shelf = shelf_](Copy* back) { shelf->put(std::unique_ptr<Copy>(back)); });
    {
      const std::lock_guard lock(*shelf_->monitor);
      std::swap(newest_, next);
    }
    // `next`, the version before, goes back to the shelf here unless somebody still reads it.
  }

  // Null before the first version.
  std::shared_ptr<const Copy> latest() const {
    const std::lock_guard lock(*shelf_->monitor);
    return newest_;
  }

 private:
  // Copies that nobody reads. Outlives the snapshot as long as somebody reads.
  struct Shelf {
    explicit Shelf(std::unique_ptr<Monitor> m) : monitor(std::move(m)) {}
    std::unique_ptr<Copy> take() {
      const std::lock_guard lock(*monitor);
      if (free.empty()) return nullptr;
      std::unique_ptr<Copy> copy = std::move(free.back());
      free.pop_back();
      return copy;
    }
    void put(std::unique_ptr<Copy> copy) {
      const std::lock_guard lock(*monitor);
      free.push_back(std::move(copy));
    }
    const std::unique_ptr<Monitor> monitor;
    std::vector<std::unique_ptr<Copy>> free;  // guarded by monitor
  };

  const std::shared_ptr<Shelf> shelf_;
  const FloatView of_;
  std::shared_ptr<Copy> newest_;  // guarded by the shelf's monitor
};

}  // namespace tacit
