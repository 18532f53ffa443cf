// SPDX-License-Identifier: MIT
// Ranks on hosts of their own, with a real network between them: network namespaces on links of 100 Mbit/s
// (scripts/netns). Skipped where the machine has no such thing.
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "support/launch.h"

namespace tacit::test {
namespace {

using Json = nlohmann::json;

const std::string kTask = "--quiet --model mlp --data synthetic --seed 1 ";
// As bytes count on a link: Ethernet, IP and TCP with its time stamps, which new namespaces have switched on. At this
// rate scripts/netns lets no packet leave that has to be cut on its way, so each is counted with headers of its own.
constexpr std::uint64_t kHeaderBytes = 14 + 20 + 32;

class Netns : public Launch {
 protected:
  void SetUp() override {
    constexpr int kCannot = 77;
    const Result r = at_switch(2, "true");
    if (r.code == kCannot) GTEST_SKIP() << r.err;
    ASSERT_EQ(r.code, 0) << r.err;
  }
  // Runs a shell script where so many hosts are.
  Result at_switch(int hosts, const std::string& script) {
    write(
        "script",
        "launch() { timeout -k 10 280 '" TACIT_PROGRAM
        "' launch --hosts \"$NETNS_HOSTS\" --ssh \"$NETNS_SSH\" \"$@\"; }\n"
        "sent() { while read -r host; do ip -n \"$host\" -s -j link show eth0; done <\"$NETNS_HOSTS\"; }\n" +
            script + "\n");
    return run("'" TACIT_NETNS "' " + std::to_string(hosts) + " 100mbit sh ./script");
  }
  // For such a script: trains with one rank on every host.
  static std::string train(const std::string& launch_args, const std::string& args) {
    return "launch " + launch_args + " -- '" TACIT_PROGRAM "' train " + kTask + args + "\n";
  }
  void expect_the_weights_of_threads(int hosts) {
    const Result r = at_switch(hosts, train("--no-prefix", "--steps 30 --json"));
    ASSERT_EQ(r.code, 0) << r.err;
    const Json on_hosts = Json::parse(r.out);
    const Json in_threads = json("train " + kTask + "--steps 30 --json --workers " + std::to_string(hosts));
    EXPECT_EQ(on_hosts.at("world"), "tcp+tls");
    EXPECT_EQ(on_hosts.at("workers"), hosts);
    EXPECT_EQ(on_hosts.at("bytes_payload"), in_threads.at("bytes_payload"));
    EXPECT_EQ(on_hosts.at("weights_hash"), in_threads.at("weights_hash"));
  }
};

// What all hosts have sent since they were made, as `sent` tells it.
struct Sent {
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
};
Sent sent_in(const std::string& text) {
  Sent all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json link = Json::parse(line).at(0).at("stats64").at("tx");
    all.bytes += link.at("bytes").get<std::uint64_t>();
    all.packets += link.at("packets").get<std::uint64_t>();
  }
  return all;
}

TEST_F(Netns, ThreeHostsTrainTheWeightsOfThreeThreads) { expect_the_weights_of_threads(3); }

TEST_F(Netns, FourHostsTrainTheWeightsOfFourThreads) { expect_the_weights_of_threads(4); }

TEST_F(Netns, TheLedgerHasTheBytesThatTheKernelCounts) {
  // On the links, but in no message of the training: the start of connections and of TLS, evaluation, reports,
  // heartbeats; 2 to 6 kB were seen. On top comes what a full queue dropped and TCP sent again.
  constexpr std::uint64_t kBeside = 64 * 1024;
  for (const char* security : {"", "--insecure-plaintext"}) {
    const Result r =
        at_switch(3, "sent >before\n" + train(std::string("--no-prefix ") + security, "--steps 30 --json") +
                         "code=$?; sent >after; exit $code");
    ASSERT_EQ(r.code, 0) << r.err;
    const auto wire = Json::parse(r.out).at("bytes_wire").get<std::uint64_t>();
    const Sent before = sent_in(slurp(path("before")));
    const Sent after = sent_in(slurp(path("after")));
    const std::uint64_t headers = kHeaderBytes * (after.packets - before.packets);
    const std::uint64_t counted = after.bytes - before.bytes - headers;
    EXPECT_GT(wire, 100 * kBeside) << "too little to tell the ledger from what is beside it";
    EXPECT_GE(counted, wire) << security;
    EXPECT_LE(counted, wire + wire / 50 + kBeside) << security;
  }
}

TEST_F(Netns, WhenACableIsPulledEveryRankNamesTheOneBehindIt) {
  const Result r =
      at_switch(3, train("--grace 60", "--steps 1000000 --log-every 1 --lost-after 6 --out run &") +
                       "until [ -e run/run.jsonl ] && [ \"$(wc -l <run/run.jsonl)\" -gt 5 ]; do\n"
                       "  kill -0 $! || exit 1; sleep 0.1\n"
                       "done\n"
                       "ip link set host3 down\n"
                       "wait $!");
  EXPECT_EQ(r.code, 3) << r.err;
  for (const char* words : {"[0] tacit: rank 0 lost rank 2: ", "[1] tacit: rank 1 lost rank 2: ",
                            "tacit launch: ranks 0-2 exited with 3"})
    EXPECT_NE(r.err.find(words), std::string::npos) << words << "\n" << r.err;
}

// Of a strategy that goes on without ranks it loses, while `cut` happens to the hosts 10.77.0.1 to 10.77.0.4.
std::string while_it_trains(const std::string& launch, const std::string& cut) {
  return launch +
         "until [ -e run/run.jsonl ] && [ \"$(wc -l <run/run.jsonl)\" -gt 5 ]; do\n"
         "  kill -0 $! || exit 1; sleep 0.1\n"
         "done\n" +
         cut + "\nwait $!";
}

class Cut : public Netns, public ::testing::WithParamInterface<const char*> {
 protected:
  // One rank on each of four hosts.
  static std::string job() {
    const std::string strategy = GetParam();
    return train("--grace 20", "--log-every 1 --lost-after 3 --out run --strategy " + strategy + " --steps " +
                                   (strategy == "gossip" ? "800 &" : "60 &"));
  }
};

TEST_P(Cut, OfTwoHostsThatCannotHearEachOtherTheHigherRankGoesAndTheOthersFinish) {
  const Result r = at_switch(4, while_it_trains(job(),
                                                "ip -n 10.77.0.2 route add blackhole 10.77.0.3/32\n"
                                                "ip -n 10.77.0.3 route add blackhole 10.77.0.2/32"));
  EXPECT_NE(r.out.find("3 of 4 workers finished"), std::string::npos) << r.out << r.err;
  EXPECT_NE(r.err.find("[2] tacit: rank 2 is lost to the others: "), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("rank 2 was lost at step "), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("rank 1 was lost at step "), std::string::npos) << r.err;
}

TEST_P(Cut, AHostBehindAPulledCableBlamesItselfAndTheOthersFinish) {
  const Result r = at_switch(4, while_it_trains(job(), "ip link set host1 down"));
  EXPECT_NE(r.out.find("[1] status          finished"), std::string::npos) << r.out << r.err;
  EXPECT_EQ(r.out.find("[0] status          finished"), std::string::npos) << r.out << r.err;
  EXPECT_NE(r.err.find("its own machine or link is the likely cause"), std::string::npos) << r.err;
}

INSTANTIATE_TEST_SUITE_P(Strategies, Cut, ::testing::Values("gossip", "wagma"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace tacit::test
