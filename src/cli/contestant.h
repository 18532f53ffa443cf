// SPDX-License-Identifier: MIT
// A program that takes turns in `tacit bench`, as its parent sees it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/turn.h"
#include "tacit/core/clock.h"

namespace tacit::cli {

// A descriptor, closed once.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  int get() const { return number_; }
  int release();
  void reset();

 private:
  int number_;
};

// Lifetime  from its start to the end of its process: the destructor ends it if finish() did not.
// Errors    InvalidConfig where the program is missing; Error, with the contestant's name and its last line on stderr,
//           where it ends, answers nonsense or keeps silent for longer than `patience`; Interrupted on Ctrl-C.
class Contestant {
 public:
  Contestant(std::string name, const std::vector<std::string>& command, Seconds patience);
  ~Contestant();
  Contestant(Contestant&&) = delete;
  Contestant& operator=(Contestant&&) = delete;

  const std::string& name() const { return name_; }
  // Seconds of one operation.
  double turn(const Turn& turn);
  // Lets it end and waits for that.
  void finish();

 private:
  std::string read_answer();
  bool ended_within(Seconds limit);
  void end();
  std::string last_words() const;
  [[noreturn]] void fail(const std::string& what);

  const std::string name_;
  const Seconds patience_;
  pid_t pid_ = -1;  // -1 once it has been waited for
  int status_ = 0;
  Descriptor in_;    // its standard input
  Descriptor out_;   // its standard output
  Descriptor said_;  // a file in memory that takes its stderr, read only when something goes wrong
};

}  // namespace tacit::cli
