// SPDX-License-Identifier: MIT
// Runs the program on a terminal of a given size, and reads what it draws. TACIT_PROGRAM is its path.
#pragma once

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tacit::test {

struct Screen {
  int code = -1;
  std::string text;  // all that was written, escape codes included
};

inline winsize window_of(int columns) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  return size;
}

inline void resize(int terminal, int columns) {
  const winsize size = window_of(columns);
  ioctl(terminal, TIOCSWINSZ, &size);
}

inline void type(int terminal, char key) { EXPECT_EQ(write(terminal, &key, 1), 1); }
constexpr char kCtrlC = 3;

// What is typed is not shown.
inline void stop_echo(int terminal) {
  termios how{};
  tcgetattr(terminal, &how);
  how.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(terminal, TCSANOW, &how);
}

// `tacit ARGS` in this folder, stdin, stdout and stderr on a terminal of so many columns. After each piece that it
// writes `look` may resize the terminal, or type.
inline Screen on_terminal(
    const std::filesystem::path& folder, std::vector<std::string> args, int columns,
    const std::function<void(int terminal, const std::string& text)>& look = [](int, const std::string&) {}) {
  args.insert(args.begin(), "tacit");
  std::vector<char*> words;
  for (std::string& word : args) words.push_back(word.data());
  words.push_back(nullptr);
  const winsize size = window_of(columns);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    if (chdir(folder.c_str()) != 0) _exit(127);
    execv(TACIT_PROGRAM, words.data());
    _exit(127);
  }
  EXPECT_GT(child, 0);
  stop_echo(terminal);
  Screen screen;
  std::array<char, 4096> some{};
  for (ssize_t got = 0; (got = read(terminal, some.data(), some.size())) > 0;) {
    screen.text.append(some.data(), static_cast<std::size_t>(got));
    look(terminal, screen.text);
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  screen.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return screen;
}

// What was written from one start of a line to the next, without escape codes.
inline std::vector<std::string> lines_on(const std::string& text) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' || text[i] == '\n')
      lines.emplace_back();
    else if (text[i] == '\x1b')
      i = std::min(text.find_first_of("ABCDHJKm", i), text.size());
    else
      lines.back() += text[i];
  }
  return lines;
}

// Characters, not bytes.
inline std::size_t columns_in(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

inline std::size_t widest_line_on(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : lines_on(text)) widest = std::max(widest, columns_in(line));
  return widest;
}

}  // namespace tacit::test
