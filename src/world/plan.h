// SPDX-License-Identifier: MIT
// Decides which world to open, from the user's choice and the environment. Opens nothing.
#pragma once

#include <string>

#include "tacit/transport/tcp.h"
#include "tacit/world/world.h"
#include "transport/fabric.h"
#include "world/environment.h"

namespace tacit {

struct WorldPlan {
  WorldChoice::Kind kind = WorldChoice::Kind::kThreads;  // never kAuto
  int rank = 0;
  int size = 1;
  int local_ranks = 0;  // 0: not known
  std::string how;      // for the user: see World::how
  // For TCP. The key is not read yet: it is in a file, behind a descriptor (from 0 on), or absent.
  TcpOptions tcp;
  std::string key_file;
  int key_descriptor = -1;
  // Where tacit launch reads whether it may lose this rank; -1: nowhere.
  int note_descriptor = -1;
};

// Throws InvalidConfig, with what to change, where the two do not go together.
WorldPlan plan_world(const WorldChoice& choice, const Environment& env);

}  // namespace tacit
