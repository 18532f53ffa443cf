// SPDX-License-Identifier: MIT
// Runs the program as a user does. TACIT_PROGRAM is its path.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace tacit::test {

namespace fs = std::filesystem;

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string slurp(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Cli : public ::testing::Test {
 protected:
  // Runs `tacit ARGS` in the test's own folder.
  Result tacit(const std::string& args) { return run("'" TACIT_PROGRAM "' " + args); }
  // The same for any program.
  Result run(const std::string& words) {
    const std::string command =
        "cd '" + dir_.path().string() + "' && exec " + words + " >out 2>err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(dir_.path() / "out"),
            slurp(dir_.path() / "err")};
  }
  nlohmann::json json(const std::string& args) {
    const Result r = tacit(args);
    EXPECT_EQ(r.code, 0) << r.err;
    return nlohmann::json::parse(r.out);
  }
  // Exit code 2, one sentence on stderr with these words, nothing on stdout.
  void expect_refusal(const std::string& args, const std::vector<std::string>& words) {
    const Result r = tacit(args);
    EXPECT_EQ(r.code, 2) << args << "\n" << r.err;
    EXPECT_EQ(r.out, "") << args;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    for (const std::string& word : words)
      EXPECT_NE(r.err.find(word), std::string::npos) << args << "\n" << r.err;
  }
  fs::path path(const std::string& name) { return dir_.path() / name; }

 private:
  TempDir dir_;
};

}  // namespace tacit::test
