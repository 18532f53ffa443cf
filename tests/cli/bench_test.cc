// SPDX-License-Identifier: MIT
// tacit bench: what it prints, what it refuses, and that no contestant outlives it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "support/program.h"

namespace tacit::test {
namespace {

class Bench : public Cli {
 protected:
  ~Bench() override { setenv("PATH", path_before_.c_str(), 1); }

  // Takes the place of mpirun, and with it of the contestants that it starts.
  void fake_mpirun(const std::string& script) {
    fs::create_directories(path("bin"));
    std::ofstream(path("bin/mpirun")) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path("bin/mpirun"), fs::perms::owner_all);
    setenv("PATH", (path("bin").string() + ":" + path_before_).c_str(), 1);
  }
  // Where the fake has left its process id.
  pid_t fake_pid() {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (slurp(path("pid")).find('\n') == std::string::npos && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return std::atoi(slurp(path("pid")).c_str());
  }
  std::string silent() { return "echo $$ >'" + path("pid").string() + "'\nexec sleep 1000"; }

  void expect_failure(const std::string& args, const std::vector<std::string>& words) {
    const Result r = tacit(args);
    EXPECT_EQ(r.code, 1) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    for (const std::string& word : words) EXPECT_NE(r.err.find(word), std::string::npos) << r.err;
  }

 private:
  const std::string path_before_ = std::getenv("PATH");
};

bool is_gone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

TEST_F(Bench, MeasuresAnAllReduceAndPrintsJson) {
  const auto rows = json("bench allreduce --world threads --workers 2 --sizes 4KiB --json");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("bench"), "allreduce");
  EXPECT_EQ(rows[0].at("world"), "threads");
  EXPECT_EQ(rows[0].at("ranks"), 2);
  EXPECT_EQ(rows[0].at("bytes"), 4096);
  EXPECT_GT(rows[0].at("seconds"), 0);
  EXPECT_TRUE(rows[0].at("beside").empty());
}

TEST_F(Bench, ProcessesAreMeasuredWithEncryptionAndWithout) {
  for (const auto& [option, security] :
       {std::pair{"--tls", "TLS 1.3"}, {"--insecure-plaintext", "plaintext"}}) {
    const auto row = json(std::string("bench allreduce --world tcp --sizes 4KiB --json ") + option).at(0);
    EXPECT_EQ(row.at("world"), "tcp");
    EXPECT_EQ(row.at("security"), security);
    EXPECT_GT(row.at("seconds"), 0);
  }
}

TEST_F(Bench, SizesAreBytesOrHaveABinaryOrADecimalUnit) {
  const auto rows = json("bench latency --sizes 7,1KiB,1kB --json");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("bytes"), 7);
  EXPECT_EQ(rows[1].at("bytes"), 1024);
  EXPECT_EQ(rows[2].at("bytes"), 1000);
  for (const auto& row : rows) EXPECT_GT(row.at("seconds"), 0);
}

TEST_F(Bench, BandwidthIsBytesPerSecond) {
  const auto row = json("bench bandwidth --sizes 64KiB --json").at(0);
  EXPECT_DOUBLE_EQ(row.at("bytes_per_second").get<double>(), 65536 / row.at("seconds").get<double>());
}

TEST_F(Bench, TheTableHasALineForEverySize) {
  const Result r = tacit("bench allreduce --workers 3 --sizes 16,8KiB");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 4) << r.out;
  EXPECT_NE(r.out.find("\n16  "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\n8192  "), std::string::npos) << r.out;
}

TEST_F(Bench, BadInputsAreRefused) {
  expect_refusal("bench", {"allreduce, latency", "bench --help"});
  expect_refusal("bench allreduc", {"allreduc", "'allreduce'"});
  expect_refusal("bench allreduce --world tpc", {"tpc", "'tcp'"});
  expect_refusal("bench allreduce --beside glo", {"glo", "'gloo'"});
  expect_refusal("bench allreduce --beside gloo,gloo", {"gloo", "twice"});
  expect_refusal("bench latency --beside gloo", {"--beside", "allreduce"});
  expect_refusal("bench allreduce --workers 0", {"--workers"});
  expect_refusal("bench latency --workers 3", {"--workers 2"});
  expect_refusal("bench allreduce --insecure-plaintext", {"--insecure-plaintext", "tcp"});
  for (const char* limit : {"0", "-1", "nan", "inf"})
    expect_refusal("bench allreduce --timeout " + std::string(limit), {"--timeout"});
  for (const char* size :
       {"4K", "four", "0", "-4", "1.5MiB", "''", ",", "4KiB,,8", "5GiB", "99999999999999GiB"})
    expect_refusal("bench allreduce --sizes " + std::string(size), {"--sizes"});
  expect_refusal("bench allreduce --sizes 10", {"10", "multiple of 4"});
}

TEST_F(Bench, AMissingLauncherOrLibraryIsRefusedWithWhatToInstall) {
  setenv("PATH", path("nowhere").c_str(), 1);
  expect_refusal("bench allreduce --world mpi", {"mpirun"});
  // Away from its build the program has no others beside it.
  fs::copy_file(TACIT_PROGRAM, path("tacit"));
  for (const std::string library : {"gloo", "openmpi"}) {
    const std::string command = "'" + path("tacit").string() + "' bench allreduce --beside " + library +
                                " 2>'" + path("err").string() + "'";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
    const std::string err = slurp(path("err"));
    EXPECT_NE(err.find("tacit_beside_" + library), std::string::npos) << err;
    EXPECT_NE(err.find("lib" + library + "-dev"), std::string::npos) << err;
  }
}

TEST_F(Bench, AContestantThatDiesIsNamedWithItsLastWords) {
  fake_mpirun("echo 'tacit: the network is made of string' >&2\necho ----- >&2\nexit 7");
  expect_failure("bench allreduce --world mpi",
                 {"tacit over mpi", "exit code 7", "the network is made of string"});
  fake_mpirun("read line\nkill -9 $$");
  expect_failure("bench allreduce --world mpi", {"tacit over mpi", "signal 9"});
}

TEST_F(Bench, AContestantThatAnswersNonsenseIsNamed) {
  for (const char* nonsense : {"hello", "0", "-1", "nan", "1e-6x", ""}) {
    fake_mpirun("read line\necho '" + std::string(nonsense) + "'\nread line");
    expect_failure("bench allreduce --world mpi --sizes 4KiB",
                   {"tacit over mpi", "'" + std::string(nonsense) + "'", "allreduce of 4096 bytes"});
  }
}

TEST_F(Bench, AContestantThatFailsAfterItsLastTurnIsAFailure) {
  fake_mpirun("while read line; do echo 1e-6; done\necho 'cannot let go' >&2\nexit 4");
  expect_failure("bench allreduce --world mpi --sizes 4KiB",
                 {"tacit over mpi", "exit code 4", "cannot let go"});
}

TEST_F(Bench, AContestantThatKeepsSilentIsNamedAndEnded) {
  fake_mpirun(silent());
  expect_failure("bench allreduce --world mpi --timeout 1", {"tacit over mpi", "no answer"});
  EXPECT_TRUE(is_gone(fake_pid()));
}

TEST_F(Bench, AnInterruptEndsTheContestants) {
  fake_mpirun(silent());
  const pid_t child = fork();
  if (child == 0) {
    execl(TACIT_PROGRAM, "tacit", "bench", "allreduce", "--world", "mpi", "--json", nullptr);
    _exit(127);
  }
  ASSERT_GT(child, 0);
  const pid_t contestant = fake_pid();
  EXPECT_GT(contestant, 0);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(is_gone(contestant));
}

}  // namespace
}  // namespace tacit::test
