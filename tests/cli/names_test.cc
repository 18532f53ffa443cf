// SPDX-License-Identifier: MIT
// What can be named, and what the program says of itself: lists, help, completions, the man page.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "support/program.h"

namespace tacit::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(Cli, AStrategyIsListedWithEveryOptionItsBoundsAndItsMeaning) {
  const Result r = tacit("list strategies local");
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* part : {"local SGD", "arXiv:1805.09767", "period", "steps between two means",
                           "default: 16", "1 to 1000000000", "tacit train --strategy local:period="})
    EXPECT_TRUE(has(r.out, part)) << part << "\n" << r.out;
  const auto gossip = json("list strategies gossip --json");
  std::vector<std::string> keys;
  for (const auto& option : gossip.at("options")) keys.push_back(option.at("key"));
  EXPECT_EQ(keys, (std::vector<std::string>{"period", "probability", "peers", "mode", "lag", "push_sum",
                                            "braking"}));
  EXPECT_EQ(gossip.at("options").at(0).at("default"), "1");
  EXPECT_EQ(gossip.at("options").at(2).at("range"), "uniform, ring or exponential");
  expect_refusal("list strategies lokal", {"'lokal'", "'local'"});
}

TEST_F(Cli, WhatIsNoStrategyIsListedWithItsOptionsToo) {
  EXPECT_TRUE(has(tacit("list compressors topk").out, "share of the values that is sent"));
  EXPECT_TRUE(has(tacit("list compressors topk").out, "error feedback"));
  EXPECT_TRUE(has(tacit("list datasets mnist").out, "folder of its files"));  // without looking for them
  EXPECT_TRUE(has(tacit("list optimizers sgd").out, "nesterov"));
  EXPECT_TRUE(has(tacit("list schedules cosine").out, "floor"));
  EXPECT_TRUE(has(tacit("list models mlp").out, "hidden units"));
  EXPECT_TRUE(has(tacit("list shards dirichlet").out, "ALPHA"));
}

TEST_F(Cli, ListsFitIntoEightyColumns) {
  for (const char* what : {"strategies", "compressors", "models", "datasets", "shards", "clusters",
                           "strategies wagma", "compressors topk", "shards dirichlet", "--legal"})
    for (const std::string& line : lines_of(tacit(std::string("list ") + what).out))
      EXPECT_LE(line.size(), 80U) << what << ": " << line;
}

TEST_F(Cli, HelpIsACommandAndTheVersionAShortOption) {
  EXPECT_EQ(tacit("help train").out, tacit("train --help").out);
  EXPECT_EQ(tacit("help").out, tacit("--help").out);
  EXPECT_EQ(tacit("-V").out, tacit("--version").out);
  EXPECT_TRUE(tacit("-V").out.starts_with("tacit "));
  expect_refusal("help trian", {"'trian'", "'train'"});
}

TEST_F(Cli, BashCompletesCommandsOptionsAndNames) {
  const auto offers = [&](const std::string& words, int at) {
    return run("bash -c 'source <(\"" TACIT_PROGRAM "\" completion bash); COMP_WORDS=(tacit " + words +
               "); COMP_CWORD=" + std::to_string(at) + "; _tacit 2>/dev/null; echo \"${COMPREPLY[*]}\"'")
        .out;
  };
  EXPECT_EQ(offers("tra", 1), "train\n");
  EXPECT_EQ(offers("train --strat", 2), "--strategy\n");
  EXPECT_EQ(offers("train --strategy lo", 3), "local\n");
  EXPECT_EQ(offers("train --world th", 3), "threads\n");
  EXPECT_EQ(offers("train --model ml", 3), "mlp\n");
  EXPECT_EQ(offers("compare --shards di", 3), "dirichlet\n");
  EXPECT_EQ(offers("list comp", 2), "compressors\n");
  EXPECT_EQ(offers("help bench", 2), "bench\n");
  EXPECT_EQ(offers("train --workers 4", 3), "\n");
  expect_refusal("completion tcsh", {"unknown shell 'tcsh'"});
}

// Their shells need not be here; the scripts name what there is.
TEST_F(Cli, ZshAndFishAreToldOfCommandsOptionsAndNames) {
  const std::string zsh = tacit("completion zsh").out;
  EXPECT_TRUE(zsh.starts_with("#compdef tacit\n"));
  EXPECT_TRUE(has(zsh, "'--strategy[How workers keep together]:strategy:(ssgd local ")) << zsh;
  EXPECT_TRUE(has(zsh, "'--json[Print the summary as JSON, and no progress]'"));
  const std::string fish = tacit("completion fish").out;
  EXPECT_TRUE(has(fish, "complete -c tacit -n __fish_use_subcommand -a train -d "));
  EXPECT_TRUE(has(fish, "'__fish_seen_subcommand_from train' -l strategy -x -a 'ssgd local "));
}

// The options in the first column of a command's help: "  -n,--ranks INT  ...".
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> options;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with("  -")) continue;
    std::istringstream names(line.substr(2, line.find(' ', 2) - 2));
    for (std::string name; std::getline(names, name, ',');)
      if (name.starts_with("--")) options.push_back(name.substr(0, name.find('{')));
  }
  return options;
}

TEST_F(Cli, TheManPageHasEveryCommandAndEveryOption) {
  ASSERT_EQ(tacit("share s").code, 0);
  std::string page = slurp(path("s/man/man1/tacit.1"));
  std::erase(page, '\\');
  std::size_t options = 0;
  for (const char* command :
       {"train", "simulate", "compare", "tune", "list", "bench", "launch", "help", "completion"}) {
    const auto begin = page.find(std::string(".SS tacit ") + command);
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string section = page.substr(begin, page.find("\n.S", begin) - begin);
    for (const std::string& option : options_in(tacit(std::string(command) + " --help").out)) {
      // The last of an option's names, or one before others.
      EXPECT_TRUE(has(section, option + "fR") || has(section, option + ", -")) << command << " " << option;
      ++options;
    }
  }
  EXPECT_GT(options, 60U);
  for (const char* file : {"bash-completion/completions/tacit", "zsh/site-functions/_tacit",
                           "fish/vendor_completions.d/tacit.fish"})
    EXPECT_GT(fs::file_size(path("s") / file), 1000U) << file;
}

}  // namespace
}  // namespace tacit::test
