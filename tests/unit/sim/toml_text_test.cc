// SPDX-License-Identifier: MIT
#include "sim/toml_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "support/refusal.h"
#include "support/temp_dir.h"
#include "tacit/sim/cluster.h"

namespace tacit::sim {
namespace {

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(TomlText, AsDeepAsAllowedIsNotTooDeep) {
  const int most = kDeepestToml;
  EXPECT_EQ(line_too_deep("x = " + times(most, "[") + times(most, "]")), 0);
  EXPECT_EQ(line_too_deep("x = " + times(most + 1, "[") + times(most + 1, "]")), 1);
  EXPECT_EQ(line_too_deep("\n\nx = " + times(most + 1, "[\n")), 3 + most);
}

TEST(TomlText, KeysWithDotsCountAsTheTablesTheyMake) {
  EXPECT_EQ(line_too_deep(times(10, "a = 1.5\nb.c = [1.5, 2.5]\n[t.u]\n")), 0);
  EXPECT_EQ(line_too_deep(times(100, "a = 1.5, ")), 0);
  EXPECT_EQ(line_too_deep("[a" + times(100, ".a") + "]"), 1);
  EXPECT_EQ(line_too_deep("a" + times(100, ".a") + " = 1"), 1);
  EXPECT_EQ(line_too_deep(times(20, "a.a.a.a = {")), 1);  // together
}

TEST(TomlText, TextsAndCommentsDoNotCount) {
  const std::string deep = times(100, "[");
  EXPECT_EQ(line_too_deep("# " + deep + "\nx = 1 # " + deep), 0);
  EXPECT_EQ(line_too_deep("x = \"" + deep + "\\\"" + deep + "\""), 0);
  EXPECT_EQ(line_too_deep("x = '" + deep + "\\' # '"), 0);
  EXPECT_EQ(
      line_too_deep("x = \"\"\"\n" + deep + "\"\n" + deep + "\"\"\"\ny = '''" + deep + "'" + deep + "'''"),
      0);
  EXPECT_EQ(line_too_deep("x = [\"\"\"a\"\"\"\", " + deep), 1);   // the fourth quote is the text's own
  EXPECT_EQ(line_too_deep("x = \"text\" # \"\ny = " + deep), 2);  // the comment's quote begins nothing
  EXPECT_EQ(line_too_deep("x = 'a\ny = " + deep), 2);  // and one that is not closed ends with its line
}

TEST(TomlText, FilesThatWouldBreakTheParserAreRefusedWithASentence) {
  const test::TempDir folder;
  const auto file = folder.path() / "bad.toml";
  const auto refused = [&](const std::string& text) {
    std::ofstream(file) << text;
    return test::refusal([&] { read_cluster(file); });
  };
  for (const char* level : {"[", "{a=", "a."})
    EXPECT_NE(refused("workers = 4\nx = " + times(100'000, level)).find("line 2 is in more than 64"),
              std::string::npos);
  EXPECT_NE(refused(times(5 << 20, " ")).find("more than 4 MiB"), std::string::npos);
}

}  // namespace
}  // namespace tacit::sim
