// SPDX-License-Identifier: MIT
// The kinds of failure. Who can mend it decides the type; docs/errors.md is the table.
#pragma once

#include <stdexcept>
#include <string>

namespace tacit {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The user can mend it: a wrong option, file or name. The program exits with 2.
struct InvalidConfig : Error {
  using Error::Error;
};

// The cluster changed: a peer ended, died or went silent, or the others have given this rank up.
struct PeerLost : Error {
  PeerLost(int me, int lost, const std::string& why)
      : Error("rank " + std::to_string(me) +
              (lost == me ? std::string(" is lost to the others") : " lost rank " + std::to_string(lost)) +
              ": " + why),
        rank(me),
        peer(lost) {}
  int rank;
  int peer;
};

// An exchange did not end before its deadline.
struct Timeout : Error {
  using Error::Error;
};

// Ranks disagree on what they exchange, such as two sizes of one model.
struct Mismatch : Error {
  using Error::Error;
};

// Training diverged: a loss that is not finite, or a run that ended no better than it began.
struct Diverged : Error {
  explicit Diverged(const std::string& what) : Error(what), rank(-1), step(-1) {}  // a whole run
  Diverged(int at_rank, long long at_step, const std::string& what)
      : Error("rank " + std::to_string(at_rank) + ", step " + std::to_string(at_step) + ": " + what),
        rank(at_rank),
        step(at_step) {}
  int rank;
  long long step;
};

// The user asked the run to stop.
struct Interrupted : Error {
  using Error::Error;
};

// A defect of Tacit itself.
struct Bug : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* file, int line, const char* condition, const std::string& what);

}  // namespace tacit

// States what must hold unless Tacit itself is wrong.
#define TACIT_CHECK(condition, what)                                               \
  do {                                                                             \
    if (!(condition)) ::tacit::fail_check(__FILE_NAME__, __LINE__, #condition, (what)); \
  } while (false)
