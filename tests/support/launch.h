// SPDX-License-Identifier: MIT
// Jobs of `tacit launch` whose ranks are shell scripts: what they see is what any program would see.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/eventually.h"
#include "support/program.h"

namespace tacit::test {

using Strings = std::vector<std::string>;

// A process that has ended and that nobody has reaped does not live.
inline bool lives(pid_t pid) {
  const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.at(name_end + 2) != 'Z' && stat.at(name_end + 2) != 'X';
}

inline Strings sorted_lines(const std::string& text) {
  Strings lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

// What a rank's script does to tell the launcher something about one, as World does it.
inline std::string note(const std::string& about, int what) {
  return "printf '\\00" + std::to_string(what) +
         "' | dd of=/proc/self/fd/$TACIT_NOTES_FD bs=1 conv=notrunc seek=$((4 * " + about +
         ")) 2>/dev/null\n";
}
inline std::string others_go_on() { return note("$TACIT_RANK", 1); }
// It takes in ranks that come back, at port 1000 + RANK: 3 * 256 + 232 + RANK.
inline std::string takes_in() {
  return "printf \"\\\\$(printf %03o $((232 + TACIT_RANK)))\\\\003\" | "
         "dd of=/proc/self/fd/$TACIT_NOTES_FD bs=1 conv=notrunc seek=$((4 * TACIT_RANK + 2)) 2>/dev/null\n";
}

// A program beside the test, with its output in the files out and err of the folder. Killed by its id where the test
// ends first.
class Started {
 public:
  // words[0] is the path of the program.
  Started(const fs::path& folder, Strings words, const char* input = "/dev/null") : pid_(fork()) {
    if (pid_ == 0) become(folder, words, input);
  }
  ~Started() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    wait();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  void signal(int number) const { kill(pid_, number); }
  // The exit code, or 128 and the signal that killed it.
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  [[noreturn]] static void become(const fs::path& folder, Strings& args, const char* input) {
    if (chdir(folder.c_str()) != 0) _exit(127);
    dup2(open(input, O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDOUT_FILENO);
    dup2(open("err", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
    std::vector<char*> words;
    for (std::string& word : args) words.push_back(word.data());
    words.push_back(nullptr);
    execv(words.front(), words.data());
    _exit(127);
  }

  pid_t pid_ = -1;
};

// `tacit launch ARGS` beside the test.
class Running : public Started {
 public:
  Running(const fs::path& folder, const Strings& args, const char* input = "/dev/null")
      : Started(folder, launch(args), input) {}

 private:
  static Strings launch(Strings args) {
    args.insert(args.begin(), {TACIT_PROGRAM, "launch"});
    return args;
  }
};

class Launch : public Cli {
 protected:
  fs::path folder() { return path("."); }
  // A file that may be executed, in the folder where the program runs.
  void write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    fs::permissions(path(name), fs::perms::owner_all);
  }
  // What ./rank does.
  void ranks_do(const std::string& script) { write("rank", "#!/bin/sh\n" + script + "\n"); }

  // The process id that a script wrote with `echo $$ >NAME`. Throws where there is none: a signal to process 0 would be
  // one to this test and all beside it.
  pid_t pid_in(const std::string& name) {
    pid_t pid = 0;
    eventually([&] { return slurp(path(name)).ends_with('\n'); });
    std::ifstream(path(name)) >> pid;
    if (pid <= 0) throw std::runtime_error("no process id in " + name + "\n" + err());
    return pid;
  }
  void kill_in(const std::string& name) { kill(pid_in(name), SIGKILL); }
  std::vector<pid_t> pids_in(const Strings& names) {
    std::vector<pid_t> pids;
    for (const std::string& name : names) pids.push_back(pid_in(name));
    return pids;
  }
  std::string out() { return slurp(path("out")); }
  std::string err() { return slurp(path("err")); }
  bool err_says(const std::string& words) {
    return eventually([&] { return err().find(words) != std::string::npos; });
  }

  // Lets up to four ranks train with such options, their process ids in pid.0 and so on, and calls `interfere` after the
  // first epoch, which loses one of them. The end is for all together: where it came before that had an effect, the
  // same again with more epochs.
  void train_and_lose_one(const std::string& options, const Strings& launch,
                          const std::function<void()>& interfere) {
    for (int epochs = 4;; epochs *= 8) {
      for (const char* name : {"pid.0", "pid.1", "pid.2", "pid.3", "ssh_127.0.0.2", "out", "err", "run"})
        fs::remove_all(path(name));
      ranks_do("echo $$ >pid.$TACIT_RANK\nexec '" TACIT_PROGRAM
               "' train --model mlp --data synthetic --batch 8 --epochs " +
               std::to_string(epochs) + " " + options);
      Running job(folder(), launch);
      ASSERT_TRUE(err_says("[0] epoch 1.00")) << err();
      interfere();
      const int code = job.wait();
      if (err().find(" was lost at step ") != std::string::npos) {
        EXPECT_EQ(code, 0) << err();
        return;
      }
      ASSERT_LT(epochs, 100000) << out() << err();
    }
  }
};

}  // namespace tacit::test
