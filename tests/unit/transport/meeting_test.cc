// SPDX-License-Identifier: MIT
// What ranks need to meet: keys, places, who may come in, who waits for whom.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/refusal.h"
#include "support/temp_dir.h"
#include "tacit/transport/job_key.h"
#include "transport/tcp/lobby.h"
#include "transport/tcp/meeting_point.h"
#include "transport/tcp/wait_chain.h"

namespace tacit::test {
namespace {

TEST(JobKeys, AreRandomAndReadBackFromTheirText) {
  const JobKey key = JobKey::random();
  EXPECT_NE(key, JobKey::random());
  EXPECT_EQ(key.hex().size(), 64U);
  EXPECT_EQ(JobKey::from_hex(key.hex() + "\n"), key);
}

TEST(JobKeys, ThatAreNoneAreRefusedAndNotShown) {
  const std::string secret(64, 'z');
  const std::string why = refusal<InvalidConfig>([&] { JobKey::from_hex(secret); });
  EXPECT_NE(why.find("openssl rand -hex 32"), std::string::npos);
  EXPECT_EQ(why.find("zz"), std::string::npos);
  EXPECT_THROW(JobKey::from_hex(std::string(63, '0')), InvalidConfig);
  EXPECT_THROW(JobKey::from_hex(""), InvalidConfig);
}

TEST(JobKeys, InAFileThatOthersMayReadAreRefused) {
  const TempDir folder;
  const auto file = folder.path() / "key";
  const JobKey key = JobKey::random();
  std::ofstream(file) << key.hex() << "\n";
  ::chmod(file.c_str(), 0600);
  EXPECT_EQ(JobKey::read_file(file), key);
  for (const mode_t mode : {0640, 0604, 0660, 0777}) {
    ::chmod(file.c_str(), mode);
    const std::string why = refusal<InvalidConfig>([&] { JobKey::read_file(file); });
    EXPECT_NE(why.find("chmod 600"), std::string::npos) << why;
  }
  EXPECT_THROW(JobKey::read_file(folder.path()), InvalidConfig);
  EXPECT_THROW(JobKey::read_file(folder.path() / "none"), InvalidConfig);
}

TEST(JobKeys, ThatWereInheritedAreNotPassedOn) {
  const TempDir folder;
  const auto file = folder.path() / "key";
  const JobKey key = JobKey::random();
  std::ofstream(file) << key.hex() << "\n";
  const int descriptor = ::open(file.c_str(), O_RDONLY);  // as a launcher leaves it
  ASSERT_EQ(::fcntl(descriptor, F_GETFD), 0);
  EXPECT_EQ(JobKey::read_descriptor(descriptor), key);
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(JobKey::read_descriptor(descriptor), key) << "it can be read again";
  ::close(descriptor);
}

TEST(MeetingPoints, AreAddressesOrFiles) {
  const MeetingPoint name = parse_meeting_point("tcp://node-0.cluster:29500");
  EXPECT_EQ(name.host, "node-0.cluster");
  EXPECT_EQ(name.port, "29500");
  const MeetingPoint six = parse_meeting_point("tcp://[fd00::1]:80");
  EXPECT_EQ(six.host, "fd00::1");
  EXPECT_EQ(six.text(), "[fd00::1]:80");
  EXPECT_EQ(parse_meeting_point("file:///tmp/meet").file, "/tmp/meet");
  for (const char* bad :
       {"", "node:80", "tcp://", "tcp://node", "tcp://:80", "tcp://node:", "tcp://node:0", "tcp://node:65536",
        "tcp://node:8o", "file://", "http://node:80", "tcp://[]:80", "tcp://[[::1]]:80", "tcp://[::1:80"})
    EXPECT_THROW(parse_meeting_point(bad), InvalidConfig) << bad;
}

TEST(MeetingFiles, AreReadByTheirJobAlone) {
  const TempDir folder;
  const auto file = folder.path() / "meet";
  EXPECT_FALSE(read_meeting_file(file, "job"));
  write_meeting_file(file, "job", "10.0.0.1", 4242);
  const auto point = read_meeting_file(file, "job");
  ASSERT_TRUE(point);
  EXPECT_EQ(point->host, "10.0.0.1");
  EXPECT_EQ(point->port, "4242");
  EXPECT_FALSE(read_meeting_file(file, "another"));
  for (const char* bad :
       {"", "tacit job 10.0.0.1", "tacit job 10.0.0.1 99999", "tacit job 10.0.0.1 x", "other job h 1"}) {
    std::ofstream(file, std::ios::trunc) << bad << "\n";
    EXPECT_FALSE(read_meeting_file(file, "job")) << bad;
  }
  EXPECT_FALSE(read_meeting_file("/dev/zero", "job"));  // a file without end
  EXPECT_THROW(write_meeting_file(folder.path() / "none" / "meet", "job", "h", 1), InvalidConfig);
}

TEST(MeetingFiles, AreNotWrittenThroughALink) {
  const TempDir folder;
  const auto file = folder.path() / "meet";
  const auto draft = folder.path() / "meet.part";
  const auto precious = folder.path() / "precious";
  std::ofstream(precious) << "kept";
  std::filesystem::create_symlink(precious, draft);
  write_meeting_file(file, "job", "10.0.0.1", 4242);
  std::string kept;
  std::ifstream(precious) >> kept;
  EXPECT_EQ(kept, "kept");
  EXPECT_FALSE(std::filesystem::is_symlink(file));
  EXPECT_TRUE(read_meeting_file(file, "job"));

  std::filesystem::create_directory(draft);  // as what another user owns, it cannot be removed
  const std::string why = refusal<InvalidConfig>([&] { write_meeting_file(file, "job", "10.0.0.2", 1); });
  EXPECT_NE(why.find("File exists"), std::string::npos) << why;
  EXPECT_EQ(read_meeting_file(file, "job")->host, "10.0.0.1");
}

TEST(Lobbies, LetInEveryRankAboveThemOnce) {
  Lobby lobby(1, 4, "job");
  EXPECT_EQ(lobby.missing(), (std::vector<int>{2, 3}));
  EXPECT_EQ(lobby.objection({3, 4, "job", 1}), "");
  lobby.enter({3, 4, "job", 1}, "10.0.0.3");
  EXPECT_NE(lobby.objection({3, 4, "job", 1}).find("is here already"), std::string::npos);
  EXPECT_EQ(lobby.missing(), (std::vector<int>{2}));
  lobby.leave(3);
  EXPECT_EQ(lobby.objection({3, 4, "job", 1}), "");
  lobby.enter({2, 4, "job", 1}, "10.0.0.2");
  lobby.enter({3, 4, "job", 1}, "10.0.0.3");
  EXPECT_TRUE(lobby.complete());
}

TEST(Lobbies, SayWhyTheyObject) {
  const Lobby lobby(0, 4, "job");
  EXPECT_NE(lobby.objection({1, 4, "other", 1}).find("job 'other'"), std::string::npos);
  EXPECT_NE(lobby.objection({1, 8, "job", 1}).find("8 ranks"), std::string::npos);
  for (const int rank : {0, 4, -1, 1 << 30})
    EXPECT_NE(lobby.objection({rank, 4, "job", 1}).find("no rank"), std::string::npos) << rank;
}

TEST(Lobbies, ShowNoEscapeCodesOfAStranger) {
  const std::string why = Lobby(0, 4, "job").objection({1, 4, "\x1b]0;mine\x07", 1});
  EXPECT_NE(why.find("job '\\x1b]0;mine\\x07'"), std::string::npos) << why;
}

TEST(Lobbies, NameTheMissing) {
  EXPECT_EQ(list_ranks({1}), "1");
  EXPECT_EQ(list_ranks({1, 3, 7}), "1, 3 and 7");
  std::vector<int> many(20);
  EXPECT_NE(list_ranks(many).find("and 4 more"), std::string::npos);
}

TEST(WaitChains, EndAtTheRankAllWaitFor) {
  const Tag tag(Tag::Channel::kAllReduce, Tag::Lane::kTrain, 7);
  const std::uint64_t second = 1'000'000;
  const std::vector<WaitState> waits{
      {1, tag.bits(), 30 * second}, {2, tag.bits(), 31 * second}, {}, {0, tag.bits(), 40 * second}};
  EXPECT_EQ(describe_chain(waits),
            "rank 3 waits for rank 0 (all-reduce 7, part 0, 40 s), which waits for rank 1 (all-reduce 7, "
            "part 0, 30 s), "
            "which waits for rank 2 (all-reduce 7, part 0, 31 s), which waits for nobody: look at rank 2");
}

TEST(WaitChains, OfACircleSaySo) {
  EXPECT_NE(describe_chain({{1, 0, 5}, {0, 0, 6}}).find("a circle"), std::string::npos);
}

TEST(WaitChains, OfNobodyAreEmpty) {
  EXPECT_EQ(describe_chain({}), "");
  EXPECT_EQ(describe_chain({{}, {}}), "");
  EXPECT_EQ(describe_chain({{9, 0, 5}, {}}), "");  // a rank that does not exist
}

TEST(ChainReports, ComeEachTimeTheLongestWaitHasDoubled) {
  std::vector<std::string> said;
  const WaitLimits limits{Seconds(100), Seconds(10), [&](const std::string& line) { said.push_back(line); }};
  ChainReport report(limits);
  const auto nobody = [](int) { return false; };
  const auto wait = [](std::uint64_t seconds) {
    return std::vector<WaitState>{{1, 0, seconds * 1'000'000}, {2, 0, 4'000'000}, {}};
  };
  for (const std::uint64_t seconds : {9, 10, 19, 20, 21}) report.look(wait(seconds), nobody);
  ASSERT_EQ(said.size(), 2U);                                               // at 10 and at 20
  EXPECT_NE(said[0].find("look at rank 1"), std::string::npos) << said[0];  // whose own wait is short
  report.look(wait(80), [](int rank) { return rank == 0; });
  EXPECT_EQ(said.size(), 2U) << "of a rank that has fallen silent";
  report.look(wait(10), nobody);
  EXPECT_EQ(said.size(), 3U) << "nobody waited in between";
}

}  // namespace
}  // namespace tacit::test
