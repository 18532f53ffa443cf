// SPDX-License-Identifier: MIT
#include "cli/launch/spawn.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

// Handlers of this process must not run in a child: they write to a pipe that both share.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

// What is ignored stays ignored (nohup), except for what this program ignores for itself.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN && number != SIGPIPE) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

struct Exec {
  const SpawnPlan& plan;
  std::vector<char*> arguments = pointers(plan.command);
  std::vector<char*> environment = pointers(plan.environment);
};

// The child between fork and exec. Its error number goes through the pipe, which exec closes.
[[noreturn]] void become(const Exec& exec, const Guard& guard, const sigset_t& mask, pid_t parent,
                         int report) {
  ::setpgid(0, 0);
  guard.enlist(::getpid());
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);  // it died before it was asked for a signal at its death
  for (const auto& [ours, theirs] : exec.plan.descriptors) ::dup2(ours, theirs);
  reset_signals();
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(exec.arguments.front(), exec.arguments.data(), exec.environment.data());
  const int error = errno;
  const ssize_t ignored = ::write(report, &error, sizeof error);
  ::_exit(ignored == 0 ? 126 : 127);
}

// 0 once the program runs, or the number of the error that kept it from running.
int read_report(UniqueFd report) {
  int error = 0;
  ssize_t count = 0;
  do {
    count = ::read(report.get(), &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

pid_t spawn(const SpawnPlan& plan, const Guard& guard) {
  const Exec exec{plan};
  Pipe report = make_pipe();
  const pid_t parent = ::getpid();
  pid_t child = -1;
  {
    const SignalsBlocked blocked;
    child = ::fork();
    if (child == 0) become(exec, guard, blocked.before(), parent, report.write.get());
  }
  if (child < 0)
    throw InvalidConfig(std::string("cannot start another process (") + std::strerror(errno) +
                        "); ask for fewer ranks or allow more processes (ulimit -u)");
  report.write.close();
  const int error = read_report(std::move(report.read));
  if (error == 0) return child;
  ::waitpid(child, nullptr, 0);
  guard.forget(child);
  throw InvalidConfig("cannot start '" + plan.command.front() + "': " + std::strerror(error) +
                      "; give a program in PATH, or the path of one, that may be executed");
}

std::vector<std::string> current_environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  return variables;
}

void ignore_broken_pipes() {
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace tacit::cli
