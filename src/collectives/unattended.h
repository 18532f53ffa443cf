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
  void add_send(Request message, std::shared_ptr<const void> keep) {
    sent_.push_back({std::move(keep), std::move(message)});
  }
  void add_receive(Request message) { given_up_.push_back({nullptr, std::move(message)}); }
  // Lets go of those that have ended.
  void sweep() {
    for (auto* each : {&given_up_, &sent_})
      each->remove_if([](Entry& entry) {
        if (!entry.message->ready()) return false;
        end(*entry.message);
        return true;
      });
  }
  // Waits until all is sent.
  void finish_sends() {
    for (Entry& each : sent_) end(*each.message);
    sent_.clear();
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

  std::list<Entry> sent_;
  std::list<Entry> given_up_;  // after sent_: loans are given back first
};

}  // namespace tacit
