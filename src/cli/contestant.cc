// SPDX-License-Identifier: MIT
#include "cli/contestant.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "tacit/core/error.h"
#include "world/signals.h"

namespace tacit::cli {
namespace {

constexpr Seconds kGrace{5};  // for an end that was asked for

[[noreturn]] void fail_call(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Ends {
  Descriptor read_end;
  Descriptor write_end;
};

// Closed in every child but for the end that is made its standard input or output: a contestant that held the input of
// another one would keep it from ending.
Ends make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_call("pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

struct Streams {
  int in;
  int out;
  int err;
};

// 0, or what kept the program from starting.
int spawn(pid_t& pid, const std::vector<std::string>& command, const Streams& streams) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
  // What this program ignores its children would ignore too.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error = posix_spawnp(&pid, argv.front(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

void Descriptor::reset() {
  if (number_ >= 0) close(release());
}

Contestant::Contestant(std::string name, const std::vector<std::string>& command, Seconds patience)
    : name_(std::move(name)),
      patience_(patience),
      said_(memfd_create("tacit-contestant-stderr", MFD_CLOEXEC)) {
  if (said_.get() < 0) fail_call("memfd_create");
  Ends in = make_pipe();
  Ends out = make_pipe();
  if (const int error = spawn(pid_, command, {in.read_end.get(), out.write_end.get(), said_.get()})) {
    pid_ = -1;
    throw InvalidConfig(fmt::format("cannot start {} for {} ({}); install it or put its folder into PATH",
                                    command.front(), name_, std::generic_category().message(error)));
  }
  in_ = std::move(in.write_end);
  out_ = std::move(out.read_end);
}

Contestant::~Contestant() { end(); }

double Contestant::turn(const Turn& turn) {
  const std::string line = fmt::format("{} {}\n", turn.kind, turn.bytes);
  // A line is shorter than what a pipe takes whole. One that has ended is noticed by the answer that does not come.
  if (write(in_.get(), line.data(), line.size()) < 0 && errno != EPIPE) fail_call("write");
  const std::string text = read_answer();
  double seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc{} && rest == text.data() + text.size();
  if (!whole || !std::isfinite(seconds) || seconds <= 0)
    fail(fmt::format("answered '{}' in place of the seconds of {} of {} bytes", text, turn.kind, turn.bytes));
  return seconds;
}

// One line, without its end. Sleeps in short pieces, because Ctrl-C may come between two of them.
std::string Contestant::read_answer() {
  const auto give_up = BenchClock::now() + std::chrono::duration_cast<BenchClock::duration>(patience_);
  std::string text;
  for (;;) {
    if (StopSignals::asked()) throw Interrupted("the benchmark was interrupted");
    if (BenchClock::now() >= give_up)
      fail(fmt::format("gave no answer within {} s (--timeout) and was ended", patience_.count()));
    pollfd waited{out_.get(), POLLIN, 0};
    if (poll(&waited, 1, 100) <= 0) continue;
    std::array<char, 256> buffer{};
    const ssize_t got = read(out_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno != EINTR) fail_call("read");
    if (got == 0 && !StopSignals::asked()) {
      ended_within(kGrace);  // for the exit code
      fail("ended in place of an answer");
    }
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (const auto end = text.find('\n'); end != std::string::npos) return text.substr(0, end);
  }
}

void Contestant::finish() {
  in_.reset();
  if (!ended_within(patience_)) fail(fmt::format("did not end within {} s and was ended", patience_.count()));
  if (status_ != 0) fail("failed after its last turn");
}

bool Contestant::ended_within(Seconds limit) {
  const auto give_up = BenchClock::now() + std::chrono::duration_cast<BenchClock::duration>(limit);
  while (pid_ > 0) {
    if (waitpid(pid_, &status_, WNOHANG) == pid_)
      pid_ = -1;
    else if (BenchClock::now() >= give_up)
      return false;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// First so that a launcher can end its ranks, then in any case.
void Contestant::end() {
  in_.reset();
  if (pid_ > 0) kill(pid_, SIGTERM);
  if (ended_within(kGrace)) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status_, 0);
  pid_ = -1;
}

// The last line on its stderr, and before all others one that Tacit wrote: launchers follow it with notes of their own.
std::string Contestant::last_words() const {
  constexpr off_t kTail = 8192;
  struct stat file {};
  if (fstat(said_.get(), &file) != 0) return "";
  std::string tail(static_cast<std::size_t>(std::min(file.st_size, kTail)), '\0');
  const ssize_t got = pread(said_.get(), tail.data(), tail.size(), std::max<off_t>(0, file.st_size - kTail));
  tail.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::istringstream lines(tail);
  std::string last;
  std::string ours;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("tacit")) ours = line;
    if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0; }))
      last = line;
  }
  return ours.empty() ? last : ours;
}

void Contestant::fail(const std::string& what) {
  const bool by_itself = pid_ < 0;
  end();
  const std::string how = by_itself ? fmt::format(" ({})", describe_status(status_)) : "";
  const std::string words = last_words();
  throw Error(fmt::format("{} {}{}; {}", name_, what, how,
                          words.empty() ? "it wrote nothing to stderr" : "its last words: " + words));
}

}  // namespace tacit::cli
