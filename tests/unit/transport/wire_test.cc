// SPDX-License-Identifier: MIT
// Every byte of docs/wire-format.md, and what is refused.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "support/refusal.h"
#include "tacit/transport/tag.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/messages.h"

namespace tacit::test {
namespace {

std::string hex(ConstBytes bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<int>(b) >> 4];
    text += kDigits[std::to_integer<int>(b) & 15];
  }
  return text;
}

constexpr Tag kTag(Tag::Channel::kAllReduce, Tag::Lane::kBackground, 0x01020304, 0x0506);

TEST(Wire, AFrameHasTheseBytes) {
  EXPECT_EQ(hex(encode(FrameHeader{FrameType::kData, kTag.bits(), 0x1122334455})),
            "54434954"          // TCIT
            "02"                // version
            "01"                // data
            "0000"              // zero
            "0605040302010101"  // tag, little-endian
            "5544332211000000");
  EXPECT_EQ(hex(encode(FrameHeader{FrameType::kWithdraw})), "54434954020c0000" + std::string(32, '0'));
}

TEST(Wire, WhatIsEncodedDecodes) {
  const FrameHeader header = decode_frame(encode(FrameHeader{FrameType::kOffer, kTag.bits(), 24}));
  EXPECT_EQ(header.type, FrameType::kOffer);
  EXPECT_EQ(header.tag, kTag.bits());
  EXPECT_EQ(header.length, 24U);
}

TEST(Wire, PayloadsHaveTheseBytes) {
  EXPECT_EQ(hex(encode(Hello{3, 4, "ab", 0x1234})), "03000000040000003412020000006162");
  EXPECT_EQ(hex(encode(Welcome{1, {{"::1", 0x1234}}})), "0100000001000000030000003a3a313412");
  EXPECT_EQ(hex(encode_refusal("no")), "020000006e6f");
  EXPECT_EQ(hex(encode(Departure{true, "x", 2})),
            "0102000000"
            "0100000078");
  EXPECT_EQ(hex(encode(WaitState{-2, 7, 8})), "feffffff07000000000000000800000000000000");
  MemoryToken token{};
  token[15] = std::byte{9};
  EXPECT_EQ(hex(encode_token(token)), "00000000000000000000000000000009");
  EXPECT_EQ(hex(encode(MemoryProof{7, 8})), "070000000800000000000000");
  EXPECT_EQ(hex(encode(OfferedMessage{1, 2, 3, 4})),
            "0100000000000000020000000000000003000000000000000400000000000000");
  EXPECT_EQ(hex(encode_ticket(5)), "0500000000000000");
}

TEST(Wire, PayloadsDecodeToWhatWasEncoded) {
  const Hello hello{3, 4, "job", 99};
  EXPECT_EQ(decode_hello(encode(hello)), hello);
  const Welcome welcome{0, {{"", 0}, {"10.0.0.2", 65535}}};
  EXPECT_EQ(decode_welcome(encode(welcome)), welcome);
  EXPECT_EQ(decode_refusal(encode_refusal("why")), "why");
  const Departure gone = decode_departure(encode(Departure{true, "its disk burned", 5}));
  EXPECT_TRUE(gone.failed);
  EXPECT_EQ(gone.why, "its disk burned");
  EXPECT_EQ(gone.culprit, 5);
  EXPECT_EQ(decode_wait(encode(WaitState{1, 2, 3})), (WaitState{1, 2, 3}));
  const MemoryToken token{std::byte{1}, std::byte{2}};
  EXPECT_EQ(decode_token(encode_token(token)), token);
  EXPECT_EQ(decode_proof(encode(MemoryProof{1, 2})), (MemoryProof{1, 2}));
  EXPECT_EQ(decode_offer(encode(OfferedMessage{1, 2, 3})), (OfferedMessage{1, 2, 3}));
  EXPECT_EQ(decode_ticket(encode_ticket(77)), 77U);
}

TEST(Wire, AQuestionAboutACircleHasTheseBytes) {
  const CircleQuestion question{{{2, kTag.bits(), 7}}, 5};
  EXPECT_EQ(hex(encode(question)),
            "0500000000000000"  // received
            "01000000"          // one wait
            "02000000"          // its rank
            "0605040302010101"  // tag
            "0700000000000000");
  EXPECT_EQ(decode_question(encode(question)), question);
  EXPECT_THROW(decode_question(encode(CircleQuestion{})), BadFrame);
  EXPECT_THROW(decode_question(encode(CircleQuestion{{{2, 0, 7}}, 5})), BadFrame);
  Payload cut = encode(question);
  cut[8] = std::byte{255};
  EXPECT_THROW(decode_question(cut), BadFrame);
}

TEST(Wire, WordsAboutSilentRanksHaveTheseBytes) {
  EXPECT_EQ(hex(encode(Accusation{3, 1, Seconds(0.001)})), "0300000001000000e803000000000000");
  EXPECT_EQ(hex(encode(Loss{2, "x"})), "020000000100000078");
  const Accusation accusation = decode_accusation(encode(Accusation{3, 1, Seconds(10.5)}));
  EXPECT_EQ(accusation.accuser, 3);
  EXPECT_EQ(accusation.accused, 1);
  EXPECT_DOUBLE_EQ(accusation.silent.count(), 10.5);
  const Loss loss = decode_loss(encode(Loss{2, "nothing was heard of it"}));
  EXPECT_EQ(loss.rank, 2);
  EXPECT_EQ(loss.why, "nothing was heard of it");
}

// A header with one byte changed.
FrameHeaderBytes spoilt(std::size_t at, int value) {
  FrameHeaderBytes bytes = encode(FrameHeader{FrameType::kData, kTag.bits(), 8});
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}

TEST(Wire, AHeaderThatIsNoneIsRefusedWithWhatWasFound) {
  const auto why = [](const FrameHeaderBytes& bytes) {
    return refusal<BadFrame>([&] { decode_frame(bytes); });
  };
  EXPECT_NE(why(spoilt(0, 'X')).find("58 43 49 54"), std::string::npos) << why(spoilt(0, 'X'));
  EXPECT_NE(why(spoilt(4, 9)).find("version 9"), std::string::npos);
  EXPECT_NE(why(spoilt(5, 0)).find("type 0"), std::string::npos);
  EXPECT_NE(why(spoilt(5, 13)).find("type 13"), std::string::npos);
  EXPECT_NE(why(spoilt(6, 1)).find("zero"), std::string::npos);
  EXPECT_NE(why(spoilt(15, 200)).find("tag"), std::string::npos);  // no such channel
  EXPECT_NE(why(spoilt(14, 255)).find("tag"), std::string::npos);  // no such lane
  EXPECT_NE(why(spoilt(5, 2)).find("tag"), std::string::npos);     // a heartbeat has none
}

TEST(Wire, LengthsAreBounded) {
  for (const std::uint64_t length :
       {kMostDataBytes + 1, std::uint64_t{1} << 63U, std::numeric_limits<std::uint64_t>::max()})
    EXPECT_THROW(decode_frame(encode(FrameHeader{FrameType::kData, kTag.bits(), length})), BadFrame)
        << length;
  EXPECT_NO_THROW(decode_frame(encode(FrameHeader{FrameType::kData, kTag.bits(), kMostDataBytes})));
  EXPECT_THROW(decode_frame(encode(FrameHeader{FrameType::kHello, 0, kMostControlBytes + 1})), BadFrame);
  for (const FrameType type :
       {FrameType::kHello, FrameType::kWelcome, FrameType::kAccusation, FrameType::kGivenUp}) {
    EXPECT_EQ(decode_frame(encode(FrameHeader{type, 7, 0})).tag, 7U);
    EXPECT_THROW(decode_frame(encode(FrameHeader{type, std::uint64_t{1} << 32U, 0})), BadFrame);
  }
  EXPECT_THROW(decode_frame(encode(FrameHeader{FrameType::kHeartbeat, 7, 0})), BadFrame);
  EXPECT_THROW(decode_offer(encode(OfferedMessage{1, 2, kMostDataBytes + 1})), BadFrame);
}

TEST(Wire, SomebodyElsesProtocolIsNamed) {
  const auto why = [](std::string text) {
    text.resize(kFrameHeaderBytes, ' ');
    return refusal<BadFrame>([&] { decode_frame(std::as_bytes(std::span(text))); });
  };
  EXPECT_NE(why("GET / HTTP/1.1").find("HTTP"), std::string::npos);
  EXPECT_NE(why("\x16\x03\x01").find("TLS"), std::string::npos);
}

TEST(Wire, PayloadsThatEndEarlyOrLateAreRefused) {
  const auto refuses = [](Payload whole, auto decode) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_THROW(decode(ConstBytes(whole).first(size)), BadFrame) << size << " of " << whole.size();
    whole.push_back(std::byte{0});
    EXPECT_THROW(decode(whole), BadFrame) << "a byte too many";
  };
  refuses(encode(Hello{3, 4, "job", 99}), decode_hello);
  refuses(encode(Welcome{0, {{"10.0.0.2", 1}, {"10.0.0.3", 2}}}), decode_welcome);
  refuses(encode_refusal("why"), decode_refusal);
  refuses(encode(Departure{true, "x", 1}), decode_departure);
  refuses(encode(WaitState{1, 2, 3}), decode_wait);
  refuses(encode_token({}), decode_token);
  refuses(encode(MemoryProof{}), decode_proof);
  refuses(encode(OfferedMessage{1, 2, 3}), decode_offer);
  refuses(encode_ticket(1), decode_ticket);
  refuses(encode(Accusation{1, 2, Seconds(3)}), decode_accusation);
  refuses(encode(Loss{1, "x"}), decode_loss);
}

TEST(Wire, ReasonsAreMadeFitToBeShown) {
  EXPECT_EQ(decode_refusal(encode_refusal("\x1b[2Jno\n")), "\\x1b[2Jno\\x0a");
  EXPECT_EQ(decode_departure(encode(Departure{true,
                                              "\x9b"
                                              "31m",
                                              2}))
                .why,
            "\\x9b31m");
}

TEST(Wire, TextsLongerThanAllowedAreRefusedBeforeTheyAreRead) {
  Payload hello = encode(Hello{3, 4, std::string(kMostJobChars, 'j'), 99});
  EXPECT_NO_THROW(decode_hello(hello));
  hello = encode(Hello{3, 4, std::string(kMostJobChars + 1, 'j'), 99});
  EXPECT_THROW(decode_hello(hello), BadFrame);
  EXPECT_EQ(decode_refusal(encode_refusal(std::string(10'000, 'x'))).size(), 4096U);
}

}  // namespace
}  // namespace tacit::test
