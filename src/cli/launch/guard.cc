// SPDX-License-Identifier: MIT
#include "cli/launch/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

constexpr int kPollsBeforeKill = 100;
constexpr timespec kPollPause{0, 50'000'000};

void end_groups(std::vector<pid_t> groups) {
  for (const pid_t group : groups) ::kill(-group, SIGTERM);
  for (int poll = 0; poll < kPollsBeforeKill && !groups.empty(); ++poll) {
    ::nanosleep(&kPollPause, nullptr);
    std::erase_if(groups, [](pid_t group) { return ::kill(-group, 0) != 0; });
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
}

// Messages are group numbers: positive ones are to be guarded, negative ones no longer.
[[noreturn]] void guard(int pipe) {
  ::setsid();  // the terminal's signals are not for this process
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
  ::prctl(PR_SET_NAME, "launch-guard");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    ::dup2(null, fd);  // nobody waits for the end of what this one holds
  if (::chdir("/") != 0) ::_exit(1);

  std::vector<pid_t> groups;
  pid_t message = 0;
  while (true) {
    const ssize_t count = ::read(pipe, &message, sizeof message);
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(sizeof message)) break;
    if (message > 0)
      groups.push_back(message);
    else
      std::erase(groups, -message);
  }
  end_groups(std::move(groups));
  ::_exit(0);
}

}  // namespace

Guard::Guard() {
  Pipe pipe = make_pipe();
  process_ = ::fork();
  if (process_ < 0) throw InvalidConfig("cannot start a process: " + std::string(std::strerror(errno)));
  if (process_ == 0) {
    pipe.write.close();
    guard(pipe.read.get());
  }
  pipe_ = std::move(pipe.write);
}

Guard::~Guard() {
  pipe_.close();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guard::enlist(pid_t group) const { tell(group); }
void Guard::forget(pid_t group) const { tell(-group); }

void Guard::tell(pid_t message) const {
  // A message is shorter than PIPE_BUF and goes through whole. A guard that somebody killed hears nothing.
  while (::write(pipe_.get(), &message, sizeof message) < 0 && errno == EINTR) {
  }
}

}  // namespace tacit::cli
