// SPDX-License-Identifier: MIT
// What the program draws on a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/pty.h"

namespace tacit::test {
namespace {

class Terminal : public Cli {};

std::vector<std::string> train_for(const char* steps) {
  std::vector<std::string> words{"train", "--workers", "2", "--evaluate-every", "100", "--steps", steps};
  words.insert(words.end(), {"--data", "synthetic:samples=16000,test=64,size=8", "--batch", "8"});
  words.insert(words.end(), {"--model", "mlp:hidden=8"});
  return words;
}

TEST_F(Terminal, OnATerminalNoLineIsWiderThanIt) {
  for (const int columns : {80, 60, 40}) {
    const Screen screen = on_terminal(path("."), train_for("200"), columns);
    EXPECT_EQ(screen.code, 0) << screen.text;
    EXPECT_LE(widest_line_on(screen.text), static_cast<std::size_t>(columns)) << screen.text;
    for (const char* words : {"loading synthetic", "step 200/200", "0:00 left", "test accuracy", "status "})
      EXPECT_NE(screen.text.find(words), std::string::npos) << columns << "\n"
                                                            << words << "\n"
                                                            << screen.text;
  }
}

TEST_F(Terminal, ATerminalThatIsMadeNarrowerIsDrawnOnAsItIs) {
  constexpr std::size_t kEnough = 1000000;  // bytes: so that a program that does not see it ends, too
  const auto is_narrow = [](const std::string& line) {
    return line.find("step ") != std::string::npos && line.find("test") == std::string::npos &&
           columns_in(line) < 40;
  };
  const auto narrow_ones = [&](const std::string& text) {
    const std::vector<std::string> lines = lines_on(text);
    return std::count_if(lines.begin(), lines.end(), is_narrow);
  };
  std::size_t before = std::string::npos;
  bool ended = false;
  const Screen screen =
      on_terminal(path("."), train_for("100000000"), 80, [&](int terminal, const std::string& text) {
        if (before == std::string::npos && text.find("step ") != std::string::npos) {
          resize(terminal, 40);
          before = text.size();
        } else if (before < text.size() && !ended) {
          ended = text.size() > kEnough || narrow_ones(text.substr(before)) > 2;
          if (ended) type(terminal, kCtrlC);
        }
      });
  EXPECT_EQ(screen.code, 130);
  std::vector<std::string> lines = lines_on(screen.text);
  lines.erase(lines.begin(), std::find_if(lines.begin(), lines.end(), is_narrow));
  ASSERT_FALSE(lines.empty()) << screen.text;
  for (const std::string& line : lines) EXPECT_LE(columns_in(line), 40U) << screen.text;
}

TEST_F(Terminal, BenchSaysWhatItMeasuresToATerminal) {
  const Screen screen = on_terminal(path("."), {"bench", "compress", "--values", "5000"}, 60);
  EXPECT_EQ(screen.code, 0) << screen.text;
  EXPECT_LE(widest_line_on(screen.text), 60U) << screen.text;
  EXPECT_NE(screen.text.find("topk ("), std::string::npos) << screen.text;
  const Screen turns = on_terminal(path("."), {"bench", "latency", "--sizes", "4KiB"}, 60);
  EXPECT_EQ(turns.code, 0) << turns.text;
  EXPECT_NE(turns.text.find("4096 bytes: turn 7 of 7 of tacit over threads (size 1 of 1)"), std::string::npos)
      << turns.text;
}

}  // namespace
}  // namespace tacit::test
