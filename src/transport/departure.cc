// SPDX-License-Identifier: MIT
#include "transport/departure.h"

#include "core/thrown.h"

namespace tacit {

Departure failure(const std::exception_ptr& error) {
  if (!error) return {true, "it is failing"};
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost& lost) {
    return {true, lost.what(), lost.peer};
  } catch (...) {
    return {true, describe(std::current_exception())};
  }
}

Departure agent_failure(const std::exception_ptr& error) {
  Departure how = failure(error);
  if (error && how.culprit == kAnyRank) how.why = "its agent failed: " + how.why;
  return how;
}

PeerLost loss(int rank, int gone, const Departure& how, const std::string& wait) {
  const std::string why = how.why + " (" + wait + ")";
  if (how.culprit < 0 || how.culprit == gone) return {rank, gone, why};
  return {rank, how.culprit, "so says rank " + std::to_string(gone) + ": " + why};
}

}  // namespace tacit
