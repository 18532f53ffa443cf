// SPDX-License-Identifier: MIT
// What the program draws on a terminal.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/program.h"
#include "support/pty.h"

namespace tacit::test {
namespace {

class Terminal : public Cli {};

const std::vector<std::string> kTrainForAWhile{"train",
                                               "--workers",
                                               "2",
                                               "--steps",
                                               "4000",
                                               "--data",
                                               "synthetic:samples=320,test=64,size=8",
                                               "--model",
                                               "mlp:hidden=8",
                                               "--batch",
                                               "8",
                                               "--evaluate-every",
                                               "1000"};

TEST_F(Terminal, OnATerminalNoLineIsWiderThanIt) {
  for (const int columns : {120, 80, 60, 40}) {
    const Screen screen = on_terminal(path("."), kTrainForAWhile, columns);
    EXPECT_EQ(screen.code, 0) << screen.text;
    EXPECT_LE(widest_line_on(screen.text), static_cast<std::size_t>(columns)) << screen.text;
    for (const char* words : {"loading synthetic", "step 4000/4000", "0:00 left", "test accuracy", "status "})
      EXPECT_NE(screen.text.find(words), std::string::npos) << columns << "\n"
                                                            << words << "\n"
                                                            << screen.text;
  }
}

TEST_F(Terminal, ATerminalThatIsMadeNarrowerIsDrawnOnAsItIs) {
  std::size_t before = std::string::npos;
  const Screen screen =
      on_terminal(path("."), kTrainForAWhile, 80, [&](int terminal, const std::string& text) {
        if (before != std::string::npos || text.find("step ") == std::string::npos) return;
        resize(terminal, 40);
        before = text.size();
      });
  ASSERT_LT(before, screen.text.size());
  // A line that was being drawn when the terminal changed may still be as wide as that was.
  const std::size_t later = screen.text.find("test accuracy", before);
  ASSERT_NE(later, std::string::npos) << screen.text;
  EXPECT_LE(widest_line_on(screen.text.substr(screen.text.find('\n', later))), 40U) << screen.text;
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
