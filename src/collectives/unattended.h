// SPDX-License-Identifier: MIT
// Messages on which nobody waits, and the memory that they need meanwhile.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/views.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// A copy of bytes, or they themselves where they have no content.
class KeptBytes {
 public:
  KeptBytes() = default;
  explicit KeptBytes(ConstBytes of) { assign(of); }
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;

  void assign(ConstBytes of) {
    const bool real = has_content(of);
    if (real) own_.assign(of.begin(), of.end());
    view_ = real ? ConstBytes(own_) : of;
  }
  ConstBytes view() const { return view_; }

 private:
  std::vector<std::byte> own_;
  ConstBytes view_;
};

// Sends that are not waited for, and receives that were given up. A message that comes for one of these is taken and
// dropped: it fills no mailbox, and no other receive gets it.
//
// Threads  one at a time.
class Unattended {
 public:
  // `keep` lives as long as the message is under way.
  void add(Request message, std::shared_ptr<const void> keep = nullptr) {
    messages_.push_back({std::move(keep), std::move(message)});
  }
  // Lets go of those that have ended.
  void sweep() {
    messages_.remove_if([](Entry& each) {
      if (!each.message->ready()) return false;
      end(*each.message);
      return true;
    });
  }
  // Waits for all.
  void finish() {
    for (Entry& each : messages_) end(*each.message);
    messages_.clear();
  }

 private:
  struct Entry {
    std::shared_ptr<const void> keep;
    Request message;  // after what it uses
  };
  // Whoever wanted the message is lost, or has given it up: nobody's error.
  static void end(Operation& message) {
    try {
      message.wait();
    } catch (const Error&) {
    }
  }

  std::list<Entry> messages_;
};

}  // namespace tacit
