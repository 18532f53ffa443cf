// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/transport/endpoint.h"

namespace tacit {

// The sending side of a message whose buffer is free again before isend returned.
class SentOperation final : public Operation {
 public:
  SentOperation(int peer, Tag tag, ConstBytes data) : arrival_{peer, tag, data} {}
  Arrival wait() override { return arrival_; }
  bool ready_by(Deadline) override { return true; }
  bool ready() override { return true; }

 private:
  Arrival arrival_;
};

}  // namespace tacit
