// SPDX-License-Identifier: MIT
#pragma once

#include "tacit/transport/endpoint.h"
#include "transport/limits.h"
#include "transport/roster.h"

namespace tacit {

// A message to a rank that was lost before this one came back, and to which there is no connection.
class Undeliverable final : public Operation {
 public:
  Undeliverable(const Roster& roster, MessageWait what, ConstBytes data)
      : roster_(roster), what_(what), data_(data) {}
  Arrival wait() override {
    if (!roster_.here(what_.peer)) roster_.give_up(what_);
    return {what_.peer, what_.tag, data_};  // it has come back since: what was for the process before is gone
  }
  bool ready_by(Deadline) override { return true; }
  bool ready() override { return true; }

 private:
  const Roster& roster_;
  const MessageWait what_;
  const ConstBytes data_;
};

}  // namespace tacit
