// SPDX-License-Identifier: MIT
// Ranks that meet over real sockets.
#include <gtest/gtest.h>

#include <thread>

#include "support/meeting.h"
#include "support/refusal.h"
#include "support/temp_dir.h"
#include "transport/tcp/meeting_point.h"

namespace tacit::test {
namespace {

class Rendezvous : public Meeting {};

TEST_F(Rendezvous, FiveRanksMeetInAnyOrder) {
  std::vector<TcpOptions> all;
  for (int r = 0; r < 5; ++r) all.push_back(rank(r, 5));
  std::swap(all[0], all[4]);
  for (const std::string& error : meet(all)) EXPECT_EQ(error, "");
}

TEST_F(Rendezvous, RankZeroMayComeLast) {
  std::vector<std::unique_ptr<Fabric>> fabrics(2);
  ThreadTasks tasks;
  const TcpOptions zero = rank(0, 2);
  const auto one = tasks.spawn("one", [&] { fabrics[1] = open_tcp(rank(1, 2)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  fabrics[0] = open_tcp(zero);
  one->join();
  for (const auto& fabric : fabrics) fabric->leave({});
}

TEST_F(Rendezvous, ARankThatComesTwiceIsToldSoAndTheFirstGoesOn) {
  std::vector<std::string> errors;
  ThreadTasks tasks;
  const auto meeting = tasks.spawn("meeting", [&] { errors = meet({rank(0, 3), rank(1, 3), rank(1, 3)}); });
  reports_.wait_for("is here already");
  const auto last = open_tcp(rank(2, 3));  // until now the meeting went on
  meeting->join();
  last->leave({});
  EXPECT_EQ(errors[0], "");
  EXPECT_NE(errors[1].empty(), errors[2].empty());
  EXPECT_NE((errors[1] + errors[2]).find("is here already"), std::string::npos) << errors[1] << errors[2];
}

TEST_F(Rendezvous, WhoeverComesWhenAllHaveMetIsNotLetIn) {
  const auto errors = meet({rank(0, 2), rank(1, 2)});
  EXPECT_EQ(errors, std::vector<std::string>(2));
  TcpOptions late = rank(1, 2);
  late.start_limit = Seconds(0.3);
  EXPECT_THROW(open_tcp(late), Error);
}

TEST_F(Rendezvous, AnotherSizeIsRefusedOnBothSides) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 3)};
  all[0].start_limit = Seconds(1);
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("3 ranks"), std::string::npos) << errors[1];
  EXPECT_NE(reports_.text().find("3 ranks"), std::string::npos) << reports_.text();
  EXPECT_NE(errors[0].find("had not come: 1"), std::string::npos) << errors[0];
}

TEST_F(Rendezvous, AnotherJobIsRefusedOnBothSides) {
  key_.reset();  // a job's key refuses the other job before it can speak; see AWrongKey...
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].start_limit = Seconds(1);
  all[1].job = "another";
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("job 'another'"), std::string::npos) << errors[1];
  EXPECT_NE(reports_.text().find("job 'another'"), std::string::npos) << reports_.text();
}

TEST_F(Rendezvous, AWrongKeyIsRefusedOnBothSides) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].start_limit = Seconds(1);
  all[1].key = JobKey::random();
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("do not have the same job key"), std::string::npos) << errors[1];
  EXPECT_NE(reports_.text().find("does not have our job key"), std::string::npos) << reports_.text();
}

TEST_F(Rendezvous, NoKeyWhereOneIsNeededIsRefused) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].start_limit = Seconds(1);
  all[1].key.reset();
  const auto errors = meet(all);
  EXPECT_NE(errors[1].find("has a job key and this rank has none"), std::string::npos) << errors[1];
}

TEST_F(Rendezvous, AKeyWhereNoneIsUsedIsRefused) {
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[0].key.reset();
  all[0].start_limit = Seconds(1);
  const auto errors = meet(all);
  EXPECT_NE(errors[1], "");
  EXPECT_NE(reports_.text().find("TLS"), std::string::npos) << reports_.text();
}

TEST_F(Rendezvous, TheMissingAreNamedByAllWhoCame) {
  std::vector<TcpOptions> all{rank(0, 5), rank(2, 5)};
  all[0].start_limit = Seconds(1);
  const auto errors = meet(all);
  for (const std::string& error : errors) EXPECT_NE(error.find("1, 3 and 4"), std::string::npos) << error;
}

TEST_F(Rendezvous, WhoeverWaitsSaysForWhom) {
  const auto soon = [](TcpOptions o) {
    o.limits.stall = Seconds(0.05);
    return o;
  };
  std::vector<std::unique_ptr<Fabric>> fabrics(3);
  ThreadTasks tasks;
  std::vector<std::unique_ptr<Task>> ranks;
  const auto open = [&](const TcpOptions& o) {
    ranks.push_back(
        tasks.spawn("rank", [&fabrics, o] { fabrics[static_cast<std::size_t>(o.rank)] = open_tcp(o); }));
  };
  const TempDir folder;
  const auto at_file = [&](int me) {
    TcpOptions o = soon(rank(me, 3));
    o.listener = -1;
    o.key.reset();
    o.rendezvous = "file://" + (folder.path() / "meet").string();
    return o;
  };
  open(at_file(1));
  reports_.wait_for("rank 1 waits for rank 0 to write " + (folder.path() / "meet").string() + ", for ");
  open(at_file(0));
  // Rank 1 looks for the file now and then: it may not have come when rank 0 first says for whom it waits.
  reports_.wait_for("2 to come to file://");
  const std::string said = reports_.text();
  EXPECT_TRUE(said.find("rank 0 waits for rank 2 to come to file://") != std::string::npos ||
              said.find("rank 0 waits for ranks 1 and 2 to come to file://") != std::string::npos)
      << said;
  open(at_file(2));
  for (const auto& each : ranks) each->join();
  for (const auto& fabric : fabrics) fabric->leave({});
}

TEST_F(Rendezvous, AGuestSaysWhereItWaitsForRankZero) {
  TcpOptions lonely = rank(1, 2);
  lonely.rendezvous = "tcp://127.0.0.1:1";
  lonely.start_limit = Seconds(1);
  lonely.limits.stall = Seconds(0.05);
  EXPECT_THROW(open_tcp(lonely), Timeout);
  EXPECT_NE(reports_.text().find("rank 1 waits for rank 0 at 127.0.0.1:1"), std::string::npos)
      << reports_.text();
  EXPECT_NE(reports_.text().find("after 1 s it gives up"), std::string::npos) << reports_.text();
}

TEST_F(Rendezvous, AGuestThatWasReachedButNotAnsweredSaysSo) {
  std::vector<TcpOptions> all{rank(0, 3), rank(1, 3)};
  all[0].start_limit = Seconds(2);
  all[1].limits.stall = Seconds(0.05);
  const auto errors = meet(all);
  EXPECT_NE(reports_.text().find("which it has reached and which waits for other ranks"), std::string::npos)
      << reports_.text();
}

TEST_F(Rendezvous, ATimeOutThatIsShorterEndsTheWaitForTheMeeting) {
  TcpOptions lonely = rank(0, 2);
  lonely.start_limit = Seconds(600);
  lonely.limits.timeout = Seconds(0.25);
  const std::string why = refusal<Timeout>([&] { open_tcp(lonely); });
  EXPECT_NE(why.find("after 0.25 s 1 of 2 ranks had not come: 1"), std::string::npos) << why;
}

TEST_F(Rendezvous, ARankThatNobodyReceivesSaysWhereItTried) {
  TcpOptions lonely = rank(1, 2);
  lonely.rendezvous = "tcp://127.0.0.1:1";
  lonely.start_limit = Seconds(0.3);
  const std::string why = refusal<Timeout>([&] { open_tcp(lonely); });
  EXPECT_NE(why.find("127.0.0.1:1"), std::string::npos) << why;
}

TEST_F(Rendezvous, ThroughAFileNeedsNoPort) {
  const TempDir folder;
  std::vector<TcpOptions> all;
  for (int r = 0; r < 3; ++r) {
    all.push_back(rank(r, 3));
    all.back().listener = -1;
    all.back().key.reset();  // with one, rank 0 would give the machine's name, which need not resolve
    all.back().rendezvous = "file://" + (folder.path() / "meet").string();
  }
  for (const std::string& error : meet(all)) EXPECT_EQ(error, "");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "meet"));
}

TEST_F(Rendezvous, ANameThatIsNotKnownYetIsWaitedFor) {
  const TempDir folder;
  const auto file = folder.path() / "meet";
  std::vector<TcpOptions> all{rank(0, 2), rank(1, 2)};
  all[1].rendezvous = "file://" + file.string();
  write_meeting_file(file, all[1].job, "no.such.host.invalid", 80);
  std::jthread name_server([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const MeetingPoint point = parse_meeting_point(all[0].rendezvous);
    write_meeting_file(file, all[1].job, point.host, std::stoi(point.port));
  });
  for (const std::string& error : meet(all)) EXPECT_EQ(error, "");
}

TEST_F(Rendezvous, ANameThatNobodyKnowsIsTheUsersToMend) {
  for (const int me : {0, 1}) {
    TcpOptions o = rank(me, 2);
    o.listener = -1;
    o.rendezvous = "tcp://no.such.host.invalid:80";
    o.start_limit = Seconds(0.3);
    const std::string why = refusal<InvalidConfig>([&] { open_tcp(o); });
    EXPECT_NE(why.find("'no.such.host.invalid' does not resolve"), std::string::npos) << why;
  }
}

TEST_F(Rendezvous, BadInputIsRefusedAtOnce) {
  const auto why = [&](auto change) {
    TcpOptions o = rank(1, 2);
    change(o);
    return refusal<InvalidConfig>([&] { open_tcp(o); });
  };
  EXPECT_NE(why([](auto& o) { o.rendezvous = "somewhere"; }).find("tcp://HOST:PORT"), std::string::npos);
  EXPECT_NE(why([](auto& o) { o.rank = 2; }).find("does not exist"), std::string::npos);
  EXPECT_NE(why([](auto& o) { o.size = 0; }).find("at least 1"), std::string::npos);
  EXPECT_NE(why([](auto& o) { o.job = std::string(65, 'x'); }).find("64"), std::string::npos);
  EXPECT_NE(why([&](auto& o) {
              o.rank = 0;  // listener_ has this port, and o.listener is not set
            }).find("in use"),
            std::string::npos);
}

TEST_F(Rendezvous, WithoutAKeyNobodyListensBeyondThisMachine) {
  key_.reset();
  for (const int me : {0, 1}) {
    TcpOptions o = rank(me, 2);
    o.listener = -1;
    o.rendezvous = "tcp://192.0.2.1:4000";  // an address for documentation; never reached
    const std::string why = refusal<InvalidConfig>([&] { open_tcp(o); });
    EXPECT_NE(why.find("without a job key"), std::string::npos) << why;
  }
}

TEST(TcpWorld, OfOneRankNeedsNobody) {
  TcpOptions o;
  o.rendezvous = "tcp://127.0.0.1:1";
  const auto fabric = open_tcp(o);
  int value = 5;
  int back = 0;
  const Tag tag(Tag::Channel::kExchange, Tag::Lane::kTrain, 1);
  fabric->endpoint().isend(0, tag, std::as_bytes(std::span(&value, 1)))->wait();
  fabric->endpoint().irecv(0, tag, std::as_writable_bytes(std::span(&back, 1)))->wait();
  EXPECT_EQ(back, 5);
  fabric->leave({});
}

}  // namespace
}  // namespace tacit::test
