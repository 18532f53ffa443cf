// SPDX-License-Identifier: MIT
// What started this process, as its environment says. Reads variables and nothing else.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tacit {

// Variables by name. One that is set and empty counts as not set.
//
// Errors  InvalidConfig that names the variable, its value and what is wanted.
class Environment {
 public:
  using Lookup = std::function<const char*(const char* name)>;  // as std::getenv
  explicit Environment(Lookup lookup) : lookup_(std::move(lookup)) {}
  static Environment of_this_process();

  std::string text(const char* name) const;  // empty where it is not set
  bool has(const char* name) const { return !text(name).empty(); }
  std::optional<int> number(const char* name, int least) const;
  bool flag(const char* name) const;  // 1; 0 and not set are false

 private:
  Lookup lookup_;
};

// What one launcher says about this process.
struct Launch {
  std::string launcher;   // "mpirun", as a user knows it
  std::string rank_name;  // the variables that say so
  std::string size_name;
  int rank = 0;
  int size = 1;
  int local_ranks = 0;     // on this machine; 0: not said
  std::string rendezvous;  // where its ranks meet over TCP; empty: they meet over MPI
  std::string job;         // its name for this job; may be empty
  bool by_srun = false;    // one task of a step, in which other launchers may run
};

// All launchers that started this process, the innermost first.
struct Launches {
  std::vector<Launch> found;
  // Why this process may have been meant as a rank though nobody says which; empty: it was not. In an allocation of
  // several tasks the batch script itself runs once.
  std::string doubt;
};

// Whether a text is a job id: letters, digits, '.', '_' and '-', from 1 to 64 of them.
bool is_job_id(const std::string& text);

// Throws InvalidConfig if a launcher's variables are incomplete or not numbers, and if two launchers, neither of which
// started the other, disagree on the number of ranks: such a process must not train alone.
Launches find_launches(const Environment& env);

// The launcher that started this process as one of several ranks, for a process that wants to be none. What is
// incomplete or contradicts itself is no launcher's.
std::optional<Launch> launcher_above(const Environment& env);

}  // namespace tacit
