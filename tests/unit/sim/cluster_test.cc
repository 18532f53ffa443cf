// SPDX-License-Identifier: MIT
// Cluster files and the time that machines take.
#include "tacit/sim/cluster.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "support/refusal.h"
#include "support/simulate.h"
#include "support/temp_dir.h"
#include "tacit/core/error.h"

namespace tacit::test {
namespace {

namespace fs = std::filesystem;

class ClusterFile : public ::testing::Test {
 protected:
  Cluster read(const std::string& text) {
    write("cluster.toml", text);
    return read_cluster(dir_.path() / "cluster.toml");
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(dir_.path() / name) << text; }
  void expect_refusal(const std::string& text, const std::vector<std::string>& words) {
    const std::string what = refusal([&] { read(text); });
    for (const std::string& word : words) EXPECT_NE(what.find(word), std::string::npos) << what;
    EXPECT_NE(what.find("cluster.toml"), std::string::npos) << what;
  }
  TempDir dir_;
};

TEST_F(ClusterFile, MayBeReadForAnotherNumberOfWorkers) {
  write("cluster.toml", "workers = 4\n[network]\npreset = \"fat-tree\"\nrack = 8\n");
  const Cluster c = read_cluster(dir_.path() / "cluster.toml", 20);
  EXPECT_EQ(c.workers, 20);
  ASSERT_EQ(c.groups.size(), 3U);
  EXPECT_EQ(c.groups[2].workers, 4);
}

TEST_F(ClusterFile, SaysWhatIsInIt) {
  const Cluster c = read(R"(
workers = 4
[network]
bandwidth = "10Gbps"
latency = "25us"
[compute]
step = "50ms"
jitter = 0.1
speed = [1, 2, 1, 0.5]
[[straggler]]
count = 2
delay = "1s"
[[straggler]]
ranks = [3]
factor = 2
[[crash]]
rank = 1
at = "2min"
)");
  EXPECT_EQ(c.workers, 4);
  EXPECT_DOUBLE_EQ(c.link.bandwidth, 1.25e9);
  EXPECT_DOUBLE_EQ(c.link.latency.count(), 25e-6);
  EXPECT_TRUE(c.groups.empty());
  EXPECT_DOUBLE_EQ(c.step.count(), 0.05);
  EXPECT_EQ(c.speed, (std::vector<double>{1, 2, 1, 0.5}));
  ASSERT_EQ(c.stragglers.size(), 2U);
  EXPECT_EQ(c.stragglers[0].count, 2);
  EXPECT_EQ(c.stragglers[1].ranks, std::vector<int>{3});
  ASSERT_EQ(c.crashes.size(), 1U);
  EXPECT_DOUBLE_EQ(c.crashes[0].at.count(), 120);
}

TEST_F(ClusterFile, SaysWhatGoesWrong) {
  const Cluster c = read(R"(
workers = 4
[[cut]]
from = [0, 1]
to = 3
both = false
at = "1s"
until = "2min"
[[cut]]
from = 0
to = 1
at = "3s"
[[stop]]
rank = 2
at = "5s"
until = "8s"
[[late]]
delay = "300ms"
[[lost]]
from = 1
rate = 0.01
until = "1min"
)");
  ASSERT_EQ(c.cuts.size(), 2U);
  EXPECT_EQ(c.cuts[0].from, (std::vector<int>{0, 1}));
  EXPECT_EQ(c.cuts[0].to, std::vector<int>{3});
  EXPECT_FALSE(c.cuts[0].both);
  EXPECT_EQ(c.cuts[0].until, Seconds(120));
  EXPECT_TRUE(c.cuts[1].both);
  EXPECT_EQ(c.cuts[1].until, kNever);
  ASSERT_EQ(c.stops.size(), 1U);
  EXPECT_EQ(c.stops[0].until, Seconds(8));
  ASSERT_EQ(c.late.size(), 2U);
  EXPECT_EQ(c.late[0].delay, Seconds(0.3));
  EXPECT_EQ(c.late[0].rate, 1);
  EXPECT_FALSE(c.late[1].delay.has_value());
  EXPECT_EQ(c.late[1].from, std::vector<int>{1});
  EXPECT_EQ(c.late[1].rate, 0.01);
}

TEST_F(ClusterFile, RefusesFaultsThatCannotBe) {
  const std::string two = "workers = 2\n";
  expect_refusal(two + "[[cut]]\nfrom = 0\nat = \"1s\"\n", {"cut", "wants from and to and at"});
  expect_refusal(two + "[[cut]]\nfrom = 0\nto = 2\nat = \"1s\"\n", {"a cut", "rank 2"});
  expect_refusal(two + "[[cut]]\nfrom = [0, 1]\nto = 1\nat = \"1s\"\n", {"rank 1 on both sides"});
  expect_refusal(two + "[[cut]]\nfrom = []\nto = 1\nat = \"1s\"\n", {"ranks in `from`"});
  expect_refusal(two + "[[cut]]\nfrom = 0\nto = 1\nat = \"1s\"\nboth = 1\n", {"cut 1.both", "true or false"});
  expect_refusal(two + "[[stop]]\nrank = 0\nat = \"2s\"\nuntil = \"1s\"\n", {"a stop", "`until` after `at`"});
  expect_refusal(two + "[[stop]]\nrank = 7\nat = \"2s\"\n", {"a stop", "rank 7"});
  expect_refusal(two + "[[late]]\nrate = 0.5\n", {"late", "wants delay"});
  expect_refusal(two + "[[late]]\ndelay = \"0s\"\n", {"late messages", "more than 0 s"});
  expect_refusal(two + "[[lost]]\nrate = 2\n", {"lost messages", "share of messages"});
  expect_refusal(two + "[[lost]]\nrate = 0.1\ndelay = \"1s\"\n", {"delay"});
}

TEST_F(ClusterFile, AFatTreeHasRacksWithUplinks) {
  const Cluster c = read(
      "workers = 10\n[network]\npreset = \"fat-tree\"\nbandwidth = \"8Gbps\"\nrack = 4\noversubscription = "
      "2\n");
  ASSERT_EQ(c.groups.size(), 3U);
  EXPECT_EQ(c.groups[2].workers, 2);
  EXPECT_DOUBLE_EQ(c.groups[0].uplink->bandwidth, 2e9);
}

TEST_F(ClusterFile, RegionsHaveTheirOwnLines) {
  const Cluster c = read(R"(
workers = 3
[network]
preset = "wan"
[[network.region]]
workers = 1
bandwidth = "1Gbps"
latency = "10ms"
[[network.region]]
name = "far"
workers = 2
bandwidth = "100Mbps"
latency = "80ms"
)");
  ASSERT_EQ(c.groups.size(), 2U);
  EXPECT_EQ(c.groups[1].name, "far");
  EXPECT_DOUBLE_EQ(c.groups[1].uplink->latency.count(), 0.08);
}

TEST_F(ClusterFile, ATraceIsReadFromItsPlaceBesideTheFile) {
  write("steps.txt", "# seconds\n0.1\n20ms\n\n0.3 # slow\n");
  const Cluster c = read("workers = 1\n[compute]\ntrace = \"steps.txt\"\n");
  ASSERT_EQ(c.trace.size(), 3U);
  EXPECT_DOUBLE_EQ(compute_time(c, 1, 0, 1).count(), 0.02);
  EXPECT_DOUBLE_EQ(compute_time(c, 1, 0, 5).count(), 0.3);
}

TEST_F(ClusterFile, WhatIsWrongIsRefusedByName) {
  expect_refusal("workers = 2\nlatncy = 3\n", {"unknown key 'latncy'"});
  expect_refusal("workers = 2\n[network]\nbandwith = \"1Gbps\"\n", {"bandwith", "did you mean 'bandwidth'"});
  expect_refusal("workers = 2\n[network]\nbandwidth = \"1Gb\"\n", {"network.bandwidth", "1Gb", "10Gbps"});
  expect_refusal("workers = 2\n[network]\nlatency = 5\n", {"network.latency", "text"});
  expect_refusal("workers = 2\n[network]\nbandwidth = \"0Gbps\"\n", {"no bandwidth"});
  expect_refusal("workers = 2\n[[crash]]\nrank = 2\nat = \"1s\"\n", {"rank 2", "0 to 1"});
  expect_refusal("workers = 2\n[[crash]]\nrank = 1\n", {"rank and at"});
  expect_refusal("workers = 0\n", {"workers"});
  expect_refusal("workers = 2\n[compute]\nspeed = [1, 1, 1]\n", {"3 numbers for 2 workers"});
  expect_refusal("workers = 2\n[[straggler]]\ndelay = \"1s\"\n", {"count"});
  expect_refusal("workers = 2\n[network]\npreset = \"fat_tre\"\n", {"fat-tree"});
  expect_refusal(
      "workers = 3\n[network]\npreset = \"wan\"\n[[network.region]]\nworkers = 2\nbandwidth = \"1Gbps\"\n",
      {"2 workers together and not 3"});
}

TEST_F(ClusterFile, BrokenTomlIsShownWithTheLineAndItsPlace) {
  const auto what = [&](const std::string& text) {
    try {
      read(text);
    } catch (const InvalidConfig& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_TRUE(what("workers = \n")
                  .ends_with("cluster.toml:1 is not TOML: missing value after key-value separator '='\n"
                             "  workers = \n"
                             "            ^--- expected value, but got nothing"))
      << what("workers = \n");
  EXPECT_TRUE(what("a = 1\na = 2\n")
                  .find("cluster.toml:2 is not TOML: value (\"a\") already exists\n  a = 2\n      ^") !=
              std::string::npos)
      << what("a = 1\na = 2\n");
}

TEST_F(ClusterFile, AFileThatIsNotThereIsRefused) {
  EXPECT_NE(refusal([&] { read_cluster(dir_.path() / "no.toml"); }).find("no.toml"), std::string::npos);
}

TEST_F(ClusterFile, APlatformWithTooFewHostsIsRefused) {
  write("two.xml", R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="node-" suffix="" radical="0-1" speed="1Gf" bw="125MBps" lat="50us"/>
</platform>
)");
  const Cluster three = read("workers = 3\n[network]\nplatform = \"two.xml\"\n");
  in_child([&] {
    const std::string what = refusal([&] { World::simulated(three, 1); });
    EXPECT_NE(what.find("2 hosts for 3 workers"), std::string::npos) << what;
  });
  Cluster two = three;
  two.workers = 2;
  simulate(two, [](Process& me) { me.comm().barrier(); });
}

TEST_F(ClusterFile, APlatformThatIsNoneIsRefused) {
  write("bad.xml", "this is not XML\n");
  const Cluster bad = read("workers = 2\n[network]\nplatform = \"bad.xml\"\n");
  in_child([&] { refusal([&] { World::simulated(bad, 1); }); });
}

TEST_F(ClusterFile, APlatformOverWhichWorkersCannotTalkIsRefused) {
  const auto platform = [](const std::string& bandwidth, const std::string& route) {
    return R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="cable" latency="50us" bandwidth=")" +
           bandwidth + "\"/>" + route + "</zone></platform>\n";
  };
  const std::string route = R"(<route src="a" dst="b"><link_ctn id="cable"/></route>)";
  const Cluster cluster = read("workers = 2\n[network]\nplatform = \"a.xml\"\n");
  write("a.xml", platform("125MBps", route));
  simulate(cluster, [](Process& me) { me.comm().barrier(); });
  write("a.xml", platform("125MBps", ""));
  simulate_failing<InvalidConfig>(cluster, {"no route from host a to host b"},
                                  [](Process& me) { me.comm().barrier(); });
  write("a.xml", platform("0MBps", route));
  in_child([&] {
    const std::string what = refusal([&] { World::simulated(cluster, 1); });
    EXPECT_NE(what.find("link cable no bandwidth"), std::string::npos) << what;
  });
}

TEST(ClusterFiles, ThoseThatAreShippedAreGood) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(TACIT_CLUSTERS)) {
    if (entry.path().extension() != ".toml") continue;
    EXPECT_NO_THROW(read_cluster(entry.path())) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 6);
}

TEST(ComputeTime, JitterHasTheMeanOfTheStep) {
  Cluster c;
  c.step = Seconds(0.1);
  c.jitter = 0.5;
  double sum = 0;
  constexpr int kSteps = 20'000;
  for (int t = 0; t < kSteps; ++t) sum += compute_time(c, 3, 0, t).count();
  EXPECT_NEAR(sum / kSteps, 0.1, 0.002);
}

TEST(ComputeTime, AsManyRanksStraggleAtEachStepAsTheRuleSays) {
  Cluster c;
  c.workers = 8;
  c.step = Seconds(1);
  c.stragglers.push_back({{}, 3, Seconds(5), 1});
  std::vector<int> hits(8);
  for (int t = 0; t < 200; ++t) {
    int late = 0;
    for (int rank = 0; rank < 8; ++rank) {
      const bool is_late = compute_time(c, 1, rank, t) > Seconds(2);
      late += is_late ? 1 : 0;
      hits[static_cast<std::size_t>(rank)] += is_late ? 1 : 0;
    }
    EXPECT_EQ(late, 3);
  }
  for (const int h : hits) EXPECT_GT(h, 30);  // 75 each, if chance is fair
}

}  // namespace
}  // namespace tacit::test
