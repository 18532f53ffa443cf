// SPDX-License-Identifier: MIT
#include "cli/layout.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/bench.h"
#include "cli/progress.h"
#include "cli/time_left.h"

namespace tacit::cli {
namespace {

constexpr std::size_t kNarrowest = 20;
constexpr std::size_t kWidest = 200;

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) widest = std::max(widest, width_of(line));
  return widest;
}

TEST(Layout, CountsCharactersAndNotBytes) {
  EXPECT_EQ(width_of("84.01 ±0.23 %"), 13U);
  EXPECT_EQ(cut("±±±±", 4), "±±±±");
  EXPECT_EQ(cut("±±±±", 3), "±±…");
  EXPECT_EQ(cut("abc", 0), "");
}

TEST(Layout, BreaksLinesBetweenWordsAndLosesNone) {
  EXPECT_EQ(wrapped("one two three", 13, 4), "one two three");
  EXPECT_EQ(wrapped("one two three", 12, 4), "one two\n    three");
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("name   value more", 12, 7),
            "name   value\n      more");  // indented by half a line at most
  const std::string text =
      "status is that synthetic:samples=320,test=64,size=8,classes=10,noise=0.25 was read";
  for (std::size_t columns = kNarrowest; columns <= kWidest; ++columns) {
    std::string lines = wrapped(text, columns, 16);
    EXPECT_LE(widest_line(lines), columns) << lines;
    std::string letters = text;
    for (std::string* each : {&lines, &letters})
      std::erase_if(*each, [](char c) { return c == ' ' || c == '\n'; });
    EXPECT_EQ(lines, letters) << columns;
  }
}

TEST(Layout, AWordWiderThanALineIsBroken) { EXPECT_EQ(wrapped("abcdefgh", 4, 1), "abcd\n efg\n h"); }

TEST(Layout, TheLightestPartsGoFirst) {
  const std::vector<LinePart> parts{{"aaaa", 2}, {"", 9}, {"bbbb", 1}, {"cccc", 3}};
  EXPECT_EQ(joined(parts, 16), "aaaa  bbbb  cccc");
  EXPECT_EQ(joined(parts, 15), "aaaa  cccc");
  EXPECT_EQ(joined(parts, 9), "cccc");
  EXPECT_EQ(joined(parts, 3), "cc…");
}

ProgressNow somewhere(bool simulated) {
  ProgressNow now;
  now.step = 12345;
  now.total = 23450;
  now.loss = 0.43219;
  if (simulated) now.virtual_seconds = 1234.5;
  now.samples_per_second = 123456;
  now.seconds_left = 754;
  return now;
}

TEST(Progress, ALineFitsIntoAnyTerminal) {
  for (const bool simulated : {false, true})
    for (std::size_t columns = kNarrowest; columns <= kWidest; ++columns)
      for (const bool with_bar : {false, true}) {
        const std::string line = progress_line(somewhere(simulated), columns, with_bar);
        EXPECT_LE(width_of(line), columns) << line;
        EXPECT_TRUE(has(line, "step 12345/23450")) << line;
        EXPECT_TRUE(columns < 79 ||
                    (has(line, "loss 0.4322") && has(line, "12:34 left") && has(line, " 53 %")))
            << line;
        EXPECT_TRUE(columns < 45 || (has(line, "loss 0.4322") && has(line, "12:34 left"))) << line;
      }
  EXPECT_TRUE(has(progress_line(somewhere(false), 79, true), "123456 samples/s"));
  EXPECT_TRUE(has(progress_line(somewhere(false), 79, true), "[####"));
  EXPECT_TRUE(has(progress_line(somewhere(true), 79, true), "1234.50 s virtual"));
  EXPECT_FALSE(has(progress_line(somewhere(false), kWidest, false), "["));
}

TEST(Progress, AnEvaluationFitsIntoAnyTerminal) {
  const Evaluated event{12345, 12.5, 0.4321, 0.8412, 77};
  for (std::size_t columns = 25; columns <= kWidest; ++columns) {
    const std::string line = evaluation_line(event, columns);
    EXPECT_LE(width_of(line), columns) << line;
    EXPECT_TRUE(has(line, "test accuracy 84.12 %")) << line;
  }
  EXPECT_EQ(evaluation_line(event, 79), "epoch 12.50  step 12345  test loss 0.4321  test accuracy 84.12 %");
}

TEST(Progress, ALineSaysHowFarItsRunIs) {
  for (std::size_t columns = kNarrowest; columns <= kWidest; ++columns)
    EXPECT_DOUBLE_EQ(share_said_by(progress_line(somewhere(true), columns, false)).value_or(0),
                     12345.0 / 23450);
  EXPECT_DOUBLE_EQ(share_said_by("  3 %  step   3/100  loss 1").value_or(0), 0.03);
  for (const char* other : {"", "epoch 1.00  step 3  test loss 1", "step 3/0", "step /3", "waits for a core"})
    EXPECT_FALSE(share_said_by(other)) << other;
}

TEST(Progress, TimesAreInHoursMinutesAndSeconds) {
  EXPECT_EQ(minutes(9.4), "0:09");
  EXPECT_EQ(minutes(754), "12:34");
  EXPECT_EQ(minutes(7209), "2:00:09");
  EXPECT_EQ(minutes(-5), "0:00");
}

TEST(TimeLeft, IsNotKnownBeforeARunSaysHowFarItIs) {
  EXPECT_FALSE(seconds_left({}, std::vector<RunTime>{{std::nullopt, 3}}, 2, 1));
}

TEST(TimeLeft, CountsRunsThatWaitAsLongAsTheOthersTake) {
  const std::vector<RunTime> one{{10, 4}};
  EXPECT_DOUBLE_EQ(*seconds_left({}, one, 0, 1), 6);
  EXPECT_DOUBLE_EQ(*seconds_left({}, one, 2, 1), 26);
  EXPECT_DOUBLE_EQ(*seconds_left({}, one, 2, 3), 10);  // two places are free
  const std::vector<double> done{20};
  EXPECT_DOUBLE_EQ(*seconds_left(done, one, 1, 1), 6 + 15);
  EXPECT_DOUBLE_EQ(*seconds_left(done, {}, 0, 2), 0);
  const std::vector<RunTime> late{{10, 14}};  // longer than was thought
  EXPECT_DOUBLE_EQ(*seconds_left({}, late, 0, 1), 0);
}

TEST(FixedTable, LeavesOutTheLightestColumns) {
  const std::vector<Column> columns{{"name", 6, 9}, {"one", 5, 1}, {"two", 5, 2}};
  EXPECT_EQ(FixedTable(columns, kAnyWidth).head(), "name     one   two");
  EXPECT_EQ(FixedTable(columns, 17).head(), "name     two");
  EXPECT_EQ(FixedTable(columns, 17).row(std::vector<std::string>{"a", "1", "2"}), "a          2");
  EXPECT_EQ(FixedTable(columns, 3).head(), "na…");
}

TEST(BenchTable, FitsIntoAnyTerminal) {
  const BenchPlan plan{"allreduce", "tcp", "TLS 1.3, sockets only", 4, {"gloo", "openmpi"}};
  const BenchRow row{67108864, 0.123456789, {0.23456789, 0.3456789}};
  for (std::size_t columns = kNarrowest; columns <= kWidest; ++columns) {
    const BenchTable table(plan, columns);
    EXPECT_LE(widest_line(table.heading(7)), columns) << table.heading(7);
    EXPECT_LE(width_of(table.row(row)), columns) << table.row(row);
    EXPECT_TRUE(has(table.row(row), "67108864")) << table.row(row);
    EXPECT_TRUE(columns < 60 || (has(table.row(row), "1.90x") && has(table.row(row), "2.80x")))
        << table.row(row);
    EXPECT_TRUE(columns < 79 || (has(table.row(row), "234567.89") && has(table.row(row), "345678.90")));
  }
}

}  // namespace
}  // namespace tacit::cli
