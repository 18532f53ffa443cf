// SPDX-License-Identifier: MIT
#include "core/exit_code.h"

#include "core/thrown.h"
#include "tacit/core/error.h"
#include "tacit/core/text.h"

namespace tacit {

LastWords last_words(const std::exception_ptr& error) {
  if (is<Interrupted>(error)) return {"interrupted", ExitCode::kInterrupted};
  const std::string line = is<Error>(error) ? describe(error) : shown(describe(error));
  if (is<InvalidConfig>(error)) return {line, ExitCode::kBadInput};
  if (is<PeerLost>(error)) return {line, ExitCode::kPeerLost};
  return {line, ExitCode::kFailed};
}

}  // namespace tacit
