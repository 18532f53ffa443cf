// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runlog/reader.h"
#include "runlog/writer.h"
#include "support/temp_dir.h"
#include "tacit/runlog/events.h"

namespace tacit {
namespace {

TEST(ShardSpread, IsReadBackFromBothEndsOfARun) {
  const test::TempDir folder;
  const auto file = folder.path() / "run.jsonl";
  RunStarted started;
  started.shards = "classes:2";
  started.shard_spread = ShardSpread{3, 5, 0.1};
  Summary ended;
  ended.shards = "iid";
  RunLogWriter log(file);
  log.write(started);
  log.write(ended);
  const RunRecord record = read_run_log(file);
  EXPECT_EQ(record.started.shards, "classes:2");
  ASSERT_TRUE(record.started.shard_spread);
  EXPECT_EQ(record.started.shard_spread->smallest, 3);
  EXPECT_EQ(record.started.shard_spread->largest, 5);
  EXPECT_EQ(record.started.shard_spread->largest_class, 0.1);
  ASSERT_TRUE(record.ended);
  EXPECT_EQ(record.ended->shards, "iid");
  EXPECT_FALSE(record.ended->shard_spread);
}

TEST(ShardSpread, LogsOfEarlierVersionsHaveNone) {
  const test::TempDir folder;
  const auto file = folder.path() / "run.jsonl";
  RunStarted started;
  started.workers = 7;
  auto json = nlohmann::ordered_json::parse(to_json_line(started));
  ASSERT_EQ(json.erase("shards"), 1U);
  ASSERT_EQ(json.erase("shard_spread"), 1U);
  std::ofstream(file) << json.dump() << "\n";
  const RunRecord record = read_run_log(file);
  EXPECT_EQ(record.started.workers, 7);
  EXPECT_EQ(record.started.shards, "");
  EXPECT_FALSE(record.started.shard_spread);
}

}  // namespace
}  // namespace tacit
