// SPDX-License-Identifier: MIT
#include "cli/launch/children.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>

#include "cli/launch/reader.h"

namespace tacit::cli {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kLook{50};
constexpr int kLooksBeforeKill = 40;

}  // namespace

class Children::Child {
 public:
  Child(Children& all, int id, pid_t process, Pipe out, Pipe err)
      : all_(all),
        id_(id),
        process_(process),
        out_(all.loop_, std::move(out.read), calls(Stream::kOut)),
        err_(all.loop_, std::move(err.read), calls(Stream::kErr)),
        look_(all.loop_) {
    out_.start();
    err_.start();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (over_) return;
    ::kill(-process_, SIGKILL);
    if (!ending_) ::waitpid(process_, nullptr, 0);
    all_.guard_.forget(process_);
  }

  int id() const { return id_; }
  bool over() const { return over_; }
  void signal(int number) const {
    if (!over_) ::kill(-process_, number);
  }

  bool stopped() const {
    std::ifstream file("/proc/" + std::to_string(process_) + "/stat");
    std::string text;
    std::getline(file, text);
    // The name of the program stands in brackets, whatever is in it; then comes the state.
    const auto name_end = text.rfind(") ");
    return name_end != std::string::npos && text.compare(name_end + 2, 1, "T") == 0;
  }

  void note_end(pid_t process, int status) {
    if (process == process_) ending_ = Ending::from_wait_status(status);
  }
  // Whether it is over, and what to do about what is left of it.
  void look() {
    if (over_ || closing_ || !ending_) return;
    if (out_.over() && err_.over() && group_is_empty()) return finish();
    if (looks_ == kLooksBeforeKill) return close();
    if (waits_) return;
    waits_ = true;
    look_.expires_after(kLook);
    look_.async_wait([this](boost::system::error_code) {
      waits_ = false;
      ++looks_;
      look();
    });
  }

 private:
  Reader::Calls calls(Stream stream) {
    return {
        [this, stream](std::string_view bytes) { all_.watcher_.output(id_, stream, bytes); },
        [this] { look(); },
        [this, stream](std::function<void()> go_on) { all_.watcher_.when_room(stream, std::move(go_on)); }};
  }

  // The number of the group cannot have been given to another one yet: its leader has only just been reaped.
  bool group_is_empty() const { return ::kill(-process_, 0) != 0; }

  void close() {
    closing_ = true;
    ::kill(-process_, SIGKILL);
    out_.finish();
    err_.finish();
    finish();
  }

  void finish() {
    over_ = true;
    all_.guard_.forget(process_);
    if (all_.notes_) all_.notes_->look();
    all_.watcher_.ended(id_, *ending_);
  }

  Children& all_;
  const int id_;
  const pid_t process_;  // and its group
  Reader out_;
  Reader err_;
  std::optional<Ending> ending_;
  asio::steady_timer look_;
  bool waits_ = false;
  int looks_ = 0;
  bool closing_ = false;
  bool over_ = false;
};

Children::Children(asio::io_context& loop, const Guard& guard, Watcher& watcher)
    : loop_(loop), guard_(guard), watcher_(watcher), ends_(loop, SIGCHLD) {
  // What a child leaves behind becomes a child of this process, which reaps it at once; init may take its time, and a
  // group is not empty before.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  wait_for_ends();
}

Children::~Children() = default;

void Children::start(int id, SpawnPlan plan, int input) {
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  plan.descriptors.insert(
      plan.descriptors.end(),
      {{input, STDIN_FILENO}, {out.write.get(), STDOUT_FILENO}, {err.write.get(), STDERR_FILENO}});
  const pid_t process = spawn(plan, guard_);
  children_.push_back(std::make_unique<Child>(*this, id, process, std::move(out), std::move(err)));
}

int Children::make_notes(int ranks) {
  notes_ = std::make_unique<Notes>(loop_, ranks, [this](int rank, LauncherNote note, std::uint16_t port) {
    watcher_.noted(rank, note, port);
  });
  return notes_->descriptor();
}

void Children::signal(int number) {
  for (const auto& child : children_) child->signal(number);
}

void Children::signal(int id, int number) {
  for (const auto& child : children_)
    if (child->id() == id) child->signal(number);
}

bool Children::all_stopped() const {
  return std::all_of(children_.begin(), children_.end(),
                     [](const auto& child) { return child->over() || child->stopped(); });
}

bool Children::any() const {
  return std::any_of(children_.begin(), children_.end(), [](const auto& child) { return !child->over(); });
}

void Children::wait_for_ends() {
  ends_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    reap();
    wait_for_ends();
  });
}

void Children::reap() {
  int status = 0;
  for (pid_t process = 0; (process = ::waitpid(-1, &status, WNOHANG)) > 0;)
    for (const auto& child : children_) child->note_end(process, status);
  for (const auto& child : children_) child->look();
}

}  // namespace tacit::cli
