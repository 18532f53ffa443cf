// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runlog/reader.h"
#include "runlog/writer.h"
#include "support/refusal.h"
#include "support/temp_dir.h"
#include "tacit/core/error.h"
#include "tacit/runlog/events.h"

namespace tacit {
namespace {

using test::refusal;

namespace fs = std::filesystem;
using test::TempDir;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

RunStarted some_start() {
  RunStarted e;
  e.version = "1.2.3";
  e.strategy = "local:period=8";
  e.compress = "topk:ratio=0.01,ef";
  e.model = "mlp:hidden=7";
  e.data = "cifar10:path=/a \"quoted\"\\path\n";
  e.optimizer = "sgd:momentum=0.9";
  e.schedule = "cosine";
  e.world = "threads";
  e.workers = 4;
  e.batch = 32;
  e.lr = 0.1;
  e.seed = kHuge;
  e.steps = 5'000'000'000;
  e.parameters = 123'456;
  return e;
}

Summary some_summary() {
  Summary e;
  e.status = "failed";
  e.error = "rank 1 lost rank 2: gone";
  e.strategy = "ssgd";
  e.compress = "onebit,ef";
  e.model = "logistic";
  e.data = "synthetic";
  e.world = "threads";
  e.workers = 3;
  e.steps = 100;
  e.samples = 9600;
  e.seconds = 1.25;
  e.samples_per_second = 7680.1;
  e.loss = 0.1;
  e.test_loss = 1.0 / 3;
  e.accuracy = 0.875;
  e.bytes_payload = kHuge - 1;
  e.bytes_wire = kHuge;
  e.messages = 77;
  e.seed = 42;
  e.weights_hash = "85944171f73967e8";
  e.ranks = {{0, 0.5, 0.25, 0.5, 11}, {2, 1.25, 0, 0, kHuge}};
  e.advice = "50 % of the time is waiting";
  return e;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
}

TEST(RunLog, TheStartOfARunIsReadBackFieldByField) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  const RunStarted written = some_start();
  RunLogWriter(file).write(written);
  const RunStarted read = read_run_log(file).started;
  EXPECT_EQ(read.version, written.version);
  EXPECT_EQ(read.strategy, written.strategy);
  EXPECT_EQ(read.compress, written.compress);
  EXPECT_EQ(read.model, written.model);
  EXPECT_EQ(read.data, written.data);
  EXPECT_EQ(read.optimizer, written.optimizer);
  EXPECT_EQ(read.schedule, written.schedule);
  EXPECT_EQ(read.world, written.world);
  EXPECT_EQ(read.workers, written.workers);
  EXPECT_EQ(read.batch, written.batch);
  EXPECT_EQ(read.lr, written.lr);
  EXPECT_EQ(read.seed, written.seed);
  EXPECT_EQ(read.steps, written.steps);
  EXPECT_EQ(read.parameters, written.parameters);
}

TEST(RunLog, StepsAndEvaluationsAreReadBackInTheirOrder) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  {
    RunLogWriter log(file);
    log.write(StepsDone{1, 10, 0.1, 0.01, 1.5});
    log.write(Evaluated{10, 0.25, 1.0 / 3, 0.875, 2.5});
    log.write(StepsDone{0, 20, 0.2, 0.02, 3.5});
    log.write(Evaluated{20, 0.5, 0.7, 0.9, 4.5});
  }
  const RunRecord record = read_run_log(file);
  ASSERT_EQ(record.steps.size(), 2U);
  EXPECT_EQ(record.steps[0].rank, 1);
  EXPECT_EQ(record.steps[0].step, 10);
  EXPECT_EQ(record.steps[0].loss, 0.1);
  EXPECT_EQ(record.steps[0].lr, 0.01);
  EXPECT_EQ(record.steps[0].seconds, 1.5);
  EXPECT_EQ(record.steps[1].step, 20);
  ASSERT_EQ(record.evaluations.size(), 2U);
  EXPECT_EQ(record.evaluations[0].step, 10);
  EXPECT_EQ(record.evaluations[0].epoch, 0.25);
  EXPECT_EQ(record.evaluations[0].loss, 1.0 / 3);
  EXPECT_EQ(record.evaluations[0].accuracy, 0.875);
  EXPECT_EQ(record.evaluations[0].seconds, 2.5);
  EXPECT_EQ(record.evaluations[1].step, 20);
  EXPECT_FALSE(record.ended.has_value());
}

TEST(RunLog, TheEndOfARunIsReadBackFieldByField) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  const Summary written = some_summary();
  RunLogWriter(file).write(written);
  const RunRecord record = read_run_log(file);
  ASSERT_TRUE(record.ended.has_value());
  const Summary& read = *record.ended;
  EXPECT_EQ(read.status, written.status);
  EXPECT_EQ(read.error, written.error);
  EXPECT_EQ(read.strategy, written.strategy);
  EXPECT_EQ(read.compress, written.compress);
  EXPECT_EQ(read.model, written.model);
  EXPECT_EQ(read.data, written.data);
  EXPECT_EQ(read.world, written.world);
  EXPECT_EQ(read.workers, written.workers);
  EXPECT_EQ(read.steps, written.steps);
  EXPECT_EQ(read.samples, written.samples);
  EXPECT_EQ(read.seconds, written.seconds);
  EXPECT_EQ(read.samples_per_second, written.samples_per_second);
  EXPECT_EQ(read.loss, written.loss);
  EXPECT_EQ(read.test_loss, written.test_loss);
  EXPECT_EQ(read.accuracy, written.accuracy);
  EXPECT_EQ(read.bytes_payload, written.bytes_payload);
  EXPECT_EQ(read.bytes_wire, written.bytes_wire);
  EXPECT_EQ(read.messages, written.messages);
  EXPECT_EQ(read.seed, written.seed);
  EXPECT_EQ(read.weights_hash, written.weights_hash);
  EXPECT_EQ(to_json_line(read), to_json_line(written));  // with advice and ranks
}

TEST(RunLog, WhatIsAbsentBecomesNullAndComesBackAbsent) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  Summary summary = some_summary();
  summary.loss.reset();
  summary.accuracy.reset();
  RunLogWriter(file).write(summary);
  const auto json = nlohmann::json::parse(text_of(file));
  EXPECT_TRUE(json.at("loss").is_null());
  EXPECT_TRUE(json.at("accuracy").is_null());
  const RunRecord record = read_run_log(file);
  ASSERT_TRUE(record.ended.has_value());
  EXPECT_FALSE(record.ended->loss.has_value());
  EXPECT_FALSE(record.ended->accuracy.has_value());
  EXPECT_EQ(record.ended->test_loss, summary.test_loss);
}

TEST(RunLog, EveryLineIsThereWhenWriteReturns) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  RunLogWriter log(file);
  for (int i = 1; i <= 3; ++i) {
    log.write(StepsDone{0, i, 0.5, 0.1, 1});
    EXPECT_EQ(read_run_log(file).steps.size(), static_cast<std::size_t>(i));
  }
}

TEST(RunLog, ACutOffLastLineIsLeftOut) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  const std::string whole =
      to_json_line(some_start()) + "\n" + to_json_line(StepsDone{0, 10, 1, 1, 1}) + "\n";
  const std::string last = to_json_line(StepsDone{0, 20, 1, 1, 1});
  for (std::size_t kept = 0; kept < last.size(); ++kept) {
    write_text(file, whole + last.substr(0, kept));
    const RunRecord record = read_run_log(file);
    ASSERT_EQ(record.steps.size(), 1U) << "after " << kept << " characters";
    EXPECT_EQ(record.steps[0].step, 10);
    EXPECT_EQ(record.started.workers, 4);
  }
  write_text(file, whole + last + "\n");
  EXPECT_EQ(read_run_log(file).steps.size(), 2U);
}

TEST(RunLog, ABadLineInTheMiddleIsRefusedWithFileAndLine) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  const std::string good = to_json_line(StepsDone{0, 10, 1, 1, 1}) + "\n";
  for (const std::string bad :
       {"{\"event\": \"steps_do", "no json", "", "{}", "[1]", "{\"event\": \"steps_done\", \"rank\": 0}"}) {
    write_text(file, good + bad + "\n" + good);
    const std::string message = refusal([&] { read_run_log(file); });
    EXPECT_NE(message.find(file.string()), std::string::npos) << "'" << bad << "': " << message;
    EXPECT_NE(message.find("line 2"), std::string::npos) << "'" << bad << "': " << message;
  }
}

TEST(RunLog, AnEventOfALaterVersionIsPassedOver) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  const std::string good = to_json_line(StepsDone{0, 10, 1, 1, 1}) + "\n";
  write_text(file, good + "{\"event\": \"from_the_future\"}\n" + good);
  EXPECT_EQ(read_run_log(file).steps.size(), 2U);
}

TEST(RunLog, AFileThatIsNotThereIsRefusedByName) {
  const TempDir folder;
  const fs::path file = folder.path() / "none.jsonl";
  EXPECT_NE(refusal([&] { read_run_log(file); }).find(file.string()), std::string::npos);
}

TEST(RunLogWriter, AFolderThatIsNotThereIsRefusedByName) {
  const TempDir folder;
  const fs::path file = folder.path() / "none" / "run.jsonl";
  EXPECT_NE(refusal([&] { RunLogWriter log(file); }).find(file.string()), std::string::npos);
  EXPECT_FALSE(fs::exists(file.parent_path()));
}

TEST(RunLogWriter, ALinkInItsPlaceIsNotFollowed) {
  const TempDir folder;
  const fs::path other = folder.path() / "precious";
  const fs::path file = folder.path() / "run.jsonl";
  write_text(other, "text");
  fs::create_symlink(other, file);
  for (const auto begin : {RunLogWriter::Begin::kAnew, RunLogWriter::Begin::kWhereItEnds})
    EXPECT_NE(refusal([&] { RunLogWriter log(file, begin); }).find("symbolic link"), std::string::npos);
  EXPECT_EQ(text_of(other), "text");
}

TEST(RunLogWriter, APipeInItsPlaceIsRefusedAndNotWaitedFor) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_NE(refusal([&] { RunLogWriter log(file); }).find(file.string()), std::string::npos);
}

TEST(RunLogWriter, GoesOnAfterTheLastWholeLineOfAnother) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  const std::string line = to_json_line(StepsDone{0, 10, 1, 1, 1});
  write_text(file, line + "\n" + line.substr(0, line.size() / 2));
  RunLogWriter log(file, RunLogWriter::Begin::kWhereItEnds);
  EXPECT_FALSE(log.empty());
  log.write(StepsDone{1, 20, 1, 1, 1});
  const RunRecord record = read_run_log(file);
  ASSERT_EQ(record.steps.size(), 2U);
  EXPECT_EQ(record.steps[1].rank, 1);
  fs::remove(file);
  EXPECT_TRUE(RunLogWriter(file, RunLogWriter::Begin::kWhereItEnds).empty());
}

// A limit on the size of files is a full disk of this process's own.
TEST(RunLogWriter, ALineThatDoesNotFitIsLeftOutWholeAndLaterOnesGoOn) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  RunLogWriter log(file);
  log.write(StepsDone{0, 1, 0.5, 0.1, 1});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{fs::file_size(file) + 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_THROW(log.write(StepsDone{0, 2, 0.5, 0.1, 1}), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  log.write(StepsDone{0, 3, 0.5, 0.1, 1});
  const RunRecord record = read_run_log(file);
  ASSERT_EQ(record.steps.size(), 2U);
  EXPECT_EQ(record.steps[1].step, 3);
}

TEST(RunLogWriter, ItsFileIsClosedInWhatTheProcessStarts) {
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  const RunLogWriter log(file);
  int found = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (fs::read_symlink(entry.path(), error) != fs::canonical(file)) continue;
    ++found;
    EXPECT_NE(::fcntl(std::stoi(entry.path().filename().string()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(found, 1);
}

TEST(RunLogWriter, FourThreadsLeaveWholeLines) {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  const TempDir folder;
  const fs::path file = folder.path() / "run.jsonl";
  {
    RunLogWriter log(file);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kThreads; ++rank)
      threads.emplace_back([&log, rank] {
        for (int i = 0; i < kEach; ++i) log.write(StepsDone{rank, i, 0.5, 0.1, 1});
      });
  }
  const RunRecord record = read_run_log(file);
  EXPECT_EQ(record.steps.size(), static_cast<std::size_t>(kThreads * kEach));
  std::vector<std::int64_t> next(kThreads, 0);
  for (const StepsDone& event : record.steps) {
    EXPECT_EQ(event.step, next.at(static_cast<std::size_t>(event.rank))++);
  }
}

TEST(SummaryFile, IsWholeJsonWithEveryFieldAndLeavesNothingBeside) {
  const TempDir folder;
  const fs::path file = folder.path() / "summary.json";
  const Summary summary = some_summary();
  write_summary(summary, file);
  auto json = nlohmann::json::parse(text_of(file));
  EXPECT_FALSE(json.contains("event"));
  auto line = nlohmann::json::parse(to_json_line(summary));
  line.erase("event");
  EXPECT_EQ(json, line);
  EXPECT_EQ(json.at("status"), "failed");
  EXPECT_EQ(json.at("bytes_wire"), kHuge);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path(), file);
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST(SummaryFile, ReplacesAnOlderOneWholly) {
  const TempDir folder;
  const fs::path file = folder.path() / "summary.json";
  write_text(file, std::string(100'000, 'x'));
  write_summary(some_summary(), file);
  EXPECT_EQ(text_of(file), to_json_text(some_summary()));
}

TEST(SummaryFile, ALinkInThePlaceOfItsDraftIsNotFollowed) {
  const TempDir folder;
  const fs::path other = folder.path() / "precious";
  const fs::path file = folder.path() / "summary.json";
  write_text(other, "text");
  fs::create_symlink(other, file.string() + ".part");
  write_summary(some_summary(), file);
  EXPECT_EQ(text_of(other), "text");
  EXPECT_EQ(text_of(file), to_json_text(some_summary()));
  EXPECT_FALSE(fs::is_symlink(file));
  EXPECT_FALSE(fs::exists(fs::symlink_status(file.string() + ".part")));
}

TEST(SummaryFile, ADraftOfAProcessThatDiedIsNoObstacle) {
  const TempDir folder;
  const fs::path file = folder.path() / "summary.json";
  write_text(file.string() + ".part", "half");
  write_summary(some_summary(), file);
  EXPECT_EQ(text_of(file), to_json_text(some_summary()));
}

TEST(SummaryFile, AFolderThatIsNotThereIsAnError) {
  const TempDir folder;
  EXPECT_THROW(write_summary(some_summary(), folder.path() / "none" / "summary.json"), Error);
}

}  // namespace
}  // namespace tacit
