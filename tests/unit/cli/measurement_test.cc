// SPDX-License-Identifier: MIT
#include "cli/measurement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <vector>

#include "support/temp_dir.h"
#include "tacit/core/rng.h"
#include "tacit/sim/cluster.h"

namespace tacit::cli {
namespace {

std::vector<LinkTiming> timings(double latency, double bandwidth, const std::vector<double>& sizes) {
  std::vector<LinkTiming> all;
  for (const double bytes : sizes) all.push_back({bytes, latency + bytes / bandwidth});
  return all;
}

TEST(Measurement, ALineOfTimingsIsFoundAgain) {
  for (const double latency : {1e-6, 50e-6, 0.1})
    for (const double bandwidth : {1e5, 125e6, 2e10}) {
      const LinkFit fit = fit_link(timings(latency, bandwidth, {8, 1e4, 1e6, 1e7}));
      EXPECT_NEAR(fit.latency, latency, 1e-6 * latency);
      EXPECT_NEAR(fit.bandwidth, bandwidth, 1e-4 * bandwidth);
    }
}

TEST(Measurement, SmallMessagesCountAsMuchAsLargeOnes) {
  auto some = timings(100e-6, 125e6, {8, 1e4, 1e6, 1e8});
  some[3].seconds *= 1.05;  // 40 ms, beside a latency of 0.1
  const LinkFit fit = fit_link(some);
  EXPECT_NEAR(fit.latency, 100e-6, 10e-6);
  EXPECT_NEAR(fit.bandwidth, 125e6, 10e6);
}

TEST(Measurement, NoLatencyIsNegativeAndNoBandwidthEither) {
  const std::vector<LinkTiming> steep{{1e3, 1e-6}, {1e6, 1e-2}};
  EXPECT_EQ(fit_link(steep).latency, 0);
  EXPECT_GT(fit_link(steep).bandwidth, 0);
  const std::vector<LinkTiming> falling{{8, 30e-6}, {1e6, 20e-6}};
  EXPECT_TRUE(std::isinf(fit_link(falling).bandwidth));
  EXPECT_GT(fit_link(falling).latency, 0);
}

TEST(Measurement, StepsGiveTheirMeanTheirSpreadAndTheSpeedOfEachRank) {
  constexpr double kSigma = 0.2;
  std::vector<std::vector<double>> steps(3);
  for (int rank = 0; rank < 3; ++rank) {
    Rng rng(1, rank, 0, Rng::Use::kStraggler);
    for (int i = 0; i < 4000; ++i)
      steps[static_cast<std::size_t>(rank)].push_back(
          (rank == 2 ? 0.02 : 0.01) *
          std::exp(kSigma * static_cast<double>(rng.normal()) - kSigma * kSigma / 2));
  }
  const StepFit fit = fit_steps(steps);
  EXPECT_NEAR(fit.seconds, 0.01, 0.0002);
  EXPECT_NEAR(fit.jitter, kSigma, 0.01);
  ASSERT_EQ(fit.speed.size(), 3U);
  EXPECT_NEAR(fit.speed[0], 1, 0.02);
  EXPECT_NEAR(fit.speed[2], 0.5, 0.02);
}

TEST(Measurement, RanksThatAreAlikeHaveNoSpeeds) {
  const StepFit fit = fit_steps(std::vector<std::vector<double>>{{0.1, 0.1, 0.1}, {0.102, 0.102, 0.102}});
  EXPECT_TRUE(fit.speed.empty());
  EXPECT_NEAR(fit.jitter, 0, 1e-6);
  EXPECT_DOUBLE_EQ(fit.seconds, 0.101);
}

TEST(Measurement, AMedianLiesInTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

Measured some_measured() {
  Measured m;
  m.workers = 3;
  m.world = "tcp+tls";
  m.model = "mlp";
  m.data = "fashion-mnist";
  m.batch = 32;
  m.date = "2024-02-29";
  m.memory = 5.5e9;
  m.step = {0.0123, 0.25, {1, 1.02, 0.5}};
  m.together = {120e-6, 11.7e6};
  m.pairs = {{0, 1, {60e-6, 12e6}}, {0, 2, {70e-6, 6e6}}, {1, 2, {60e-6, 12e6}}};
  return m;
}

Cluster read_back(const Measured& measured) {
  const test::TempDir folder;
  const auto file = folder.path() / "cluster.toml";
  std::ofstream(file) << cluster_text(measured);
  return read_cluster(file);
}

TEST(Measurement, TheFileIsReadBackAsItWasMeasured) {
  const Cluster cluster = read_back(some_measured());
  EXPECT_EQ(cluster.workers, 3);
  EXPECT_NEAR(cluster.link.bandwidth, 11.7e6, 1);
  EXPECT_NEAR(cluster.link.latency.count(), 60e-6, 1e-12) << "a message crosses two links";
  EXPECT_NEAR(cluster.step.count(), 0.0123, 1e-9);
  EXPECT_EQ(cluster.jitter, 0.25);
  EXPECT_NEAR(cluster.memory, 5.5e9, 1);
  EXPECT_EQ(cluster.speed, (std::vector<double>{1, 1.02, 0.5}));
}

TEST(Measurement, AFileOfOneRankOrOfLinksWithoutEndIsRead) {
  Measured alone = some_measured();
  alone.workers = 1;
  alone.pairs.clear();
  alone.step.speed.clear();
  EXPECT_EQ(read_back(alone).workers, 1);
  Measured fast = some_measured();
  fast.together = {0, std::numeric_limits<double>::infinity()};
  fast.pairs[0].link = fast.together;
  EXPECT_EQ(read_back(fast).link.bandwidth, 1e12);
}

TEST(Measurement, TheSlowestPairIsNamed) {
  EXPECT_EQ(slowest_pair(some_measured()).second, 2);
  EXPECT_NE(measured_table(some_measured()).find("(ranks 0 and 2)"), std::string::npos);
  EXPECT_NE(cluster_text(some_measured()).find("ranks 0 and 2"), std::string::npos);
}

}  // namespace
}  // namespace tacit::cli
