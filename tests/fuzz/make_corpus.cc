// SPDX-License-Identifier: MIT
// Writes the seeds of the corpus: every message, and what ranks do with them.
//   make_corpus FOLDER
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "fuzz/compress_input.h"
#include "fuzz/frames_input.h"
#include "fuzz/rendezvous_input.h"
#include "tacit/compress/compression.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/messages.h"

namespace tacit::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

Bytes join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes text(const std::string& chars) {
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

Bytes numbers(const std::vector<int>& values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Bytes frame(FrameType type, const Payload& payload, std::uint64_t tag_bits = 0) {
  const FrameHeaderBytes header = encode(FrameHeader{type, tag_bits, payload.size()});
  return join({Bytes(header.begin(), header.end()), payload});
}

Bytes data(std::uint32_t tag_number, const std::string& message) {
  return frame(FrameType::kData, text(message), tag(tag_number).bits());
}

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
  }
  void write(const std::string& name, const Bytes& bytes) const {
    std::ofstream out(path_ / name, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw std::runtime_error("cannot write " + (path_ / name).string());
  }

 private:
  std::filesystem::path path_;
};

// Frames

struct Step {
  int bytes;
  std::uint8_t act;
};

// `how`: byte 0 of an input.
Bytes play(int how, const std::vector<Step>& steps, const std::vector<Bytes>& frames) {
  Bytes input = numbers({how, static_cast<int>(steps.size())});
  for (const Step& each : steps) input = join({input, numbers({each.bytes, each.act})});
  return join({input, join(frames)});
}

Bytes offer(std::uint32_t tag_number, const OfferedMessage& what) {
  return frame(FrameType::kOffer, encode(what), tag(tag_number).bits());
}

void write_frames(const Folder& to) {
  const Bytes memory = frame(FrameType::kProof, encode(MemoryProof{kPeerProcess, kPeerMemory}));
  const Bytes trial = frame(FrameType::kMemory, encode_token({}));
  const OfferedMessage some{1, kPeerMemory + 100, 1000, kPeerTicket};
  const Bytes beat = frame(FrameType::kHeartbeat, encode(WaitState{0, tag(1).bits(), 31'000'000}));
  const Bytes bye = frame(FrameType::kGoodbye, encode(Departure{true, "its disk burned", 2}));
  const auto elsewhere = [&](const std::string& name, const std::vector<Step>& steps,
                             const std::vector<Bytes>& frames) { to.write(name, play(0, steps, frames)); };
  const auto here = [&](const std::string& name, const std::vector<Step>& steps,
                        const std::vector<Bytes>& frames) { to.write(name, play(1, steps, frames)); };
  elsewhere("data_unasked", {}, {data(0, "hello"), data(1, ""), data(0, "again")});
  elsewhere("data_byte_by_byte", {{1, step(Act::kNothing)}}, {data(0, "hello"), data(3, "world")});
  elsewhere("data_received",
            {{0, step(Act::kReceive, 0, 4)}, {26, step(Act::kWait)}, {255, step(Act::kWait)}},
            {data(0, "hello")});
  elsewhere("data_longer_than_asked", {{0, step(Act::kReceive, 0, 1)}, {255, step(Act::kWait)}},
            {data(0, "hello")});
  elsewhere("data_borrowed", {{0, step(Act::kBorrow, 2)}, {255, step(Act::kWait, 2)}}, {data(2, "hello")});
  elsewhere("data_from_any", {{30, step(Act::kReceiveFromAny, 1, 4)}, {255, step(Act::kWait, 1)}},
            {data(0, "hello"), data(1, "world")});
  elsewhere("data_dropped_under_way",
            {{0, step(Act::kReceive, 0, 4)}, {26, step(Act::kDropFirst)}, {255, step(Act::kNothing)}},
            {data(0, "hello"), data(0, "again")});
  elsewhere("data_two_asked_first_dropped_under_way",
            {{0, step(Act::kReceive, 0, 4)},
             {0, step(Act::kReceive, 0, 4)},
             {26, step(Act::kDropFirst)},
             {255, step(Act::kNothing)}},
            {data(0, "hello"), data(0, "again")});
  elsewhere("data_large", {{0, step(Act::kReceive, 0, 6)}, {200, step(Act::kSend, 0, 5)}},
            {data(0, std::string(3000, 'x')), beat});
  const FrameHeaderBytes endless = encode(FrameHeader{FrameType::kData, tag(0).bits(), kMostDataBytes});
  elsewhere("data_of_a_terabyte", {}, {data(0, ""), Bytes(endless.begin(), endless.end()), text("x")});
  elsewhere("heartbeat", {}, {beat, frame(FrameType::kHeartbeat, encode(WaitState{}))});
  elsewhere("goodbye", {{0, step(Act::kSend, 0, 4)}}, {bye, frame(FrameType::kGoodbye, encode(Departure{}))});
  elsewhere("accusation", {}, {frame(FrameType::kAccusation, encode(Accusation{1, 0, Seconds(10)}))});
  elsewhere(
      "circle", {},
      {frame(FrameType::kCircle, encode(CircleQuestion{{{0, tag(0).bits(), 7}, {1, tag(1).bits(), 9}}, 3}))});
  elsewhere("given_up", {}, {frame(FrameType::kGivenUp, encode(Loss{0, "nothing was heard of it"}))});
  elsewhere("memory_of_another_machine", {}, {trial, memory, offer(0, some)});
  elsewhere("hello_too_late", {}, {frame(FrameType::kHello, encode(Hello{1, 2, kJob, 4000}))});
  elsewhere("http", {}, {text("GET / HTTP/1.1\r\nHost: rank-0\r\n\r\n")});
  elsewhere("tls", {}, {numbers({0x16, 3, 1, 2, 0, 1, 0, 1}), text(std::string(24, 'x'))});
  here("memory", {}, {memory});
  here("memory_that_is_not_there", {}, {frame(FrameType::kProof, encode(MemoryProof{kPeerProcess, 2}))});
  here("memory_of_another_process", {}, {frame(FrameType::kProof, encode(MemoryProof{1, kPeerMemory}))});
  here("memory_twice", {}, {frame(FrameType::kProof, encode(MemoryProof{1, kPeerMemory})), memory});
  here("memory_tried_twice", {}, {trial, trial});
  here("readable_untried", {}, {frame(FrameType::kReadable, {})});
  here("readable_then_taken", {{64, step(Act::kSend, 0, 5)}},
       {trial, frame(FrameType::kReadable, {}), frame(FrameType::kTaken, encode_ticket(1))});
  here("taken_without_offer", {}, {frame(FrameType::kTaken, encode_ticket(9))});
  here("offer_unasked", {}, {memory, offer(0, some)});
  here("offer_received", {{0, step(Act::kReceive, 0, 5)}, {255, step(Act::kWait)}}, {memory, offer(0, some)});
  here("offer_received_late", {{255, step(Act::kReceive, 0, 5)}, {0, step(Act::kWait)}},
       {memory, offer(0, some)});
  here("offer_borrowed", {{0, step(Act::kBorrow)}, {255, step(Act::kWait)}, {0, step(Act::kDropFirst)}},
       {memory, offer(0, some)});
  here("offer_of_memory_that_is_gone", {{0, step(Act::kReceive, 0, 7)}, {255, step(Act::kWait)}},
       {memory, offer(0, {1, kPeerMemory + kPeerMemoryBytes - 10, 1000, kPeerTicket})});
  here("offer_of_a_terabyte", {{255, step(Act::kBorrow)}, {0, step(Act::kWait)}},
       {memory, offer(0, {1, kPeerMemory, kMostDataBytes, kPeerTicket})});
  here("offer_that_was_given_up", {{0, step(Act::kReceive, 0, 5)}, {255, step(Act::kWait)}},
       {memory, offer(0, {2, kPeerMemory + 100, 1000, kPeerTicket})});
  here("offer_withdrawn", {}, {memory, offer(0, some), frame(FrameType::kWithdraw, encode_ticket(1))});
}

// Rings between two ranks of one machine: those that the rank makes, and those that the peer makes.
void write_rings(const Folder& to) {
  const Bytes proof = frame(FrameType::kProof, encode(MemoryProof{kPeerProcess, kPeerMemory}));
  const Bytes trial = frame(FrameType::kMemory, encode_token({}));
  const Bytes readable = frame(FrameType::kReadable, {});
  const Bytes leave = frame(FrameType::kSwitch, {});
  const Bytes rings = frame(FrameType::kRings, encode(RingOffer{kPeerRings, kRingBytes}));
  const auto lower = [&](const std::string& name, const std::vector<Bytes>& frames) {
    to.write(name, play(1, {{0, step(Act::kNothing)}, {255, step(Act::kSend, 1, 5)}}, frames));
  };
  lower("rings_made", {trial, readable, leave, text("bells")});
  lower("rings_made_switched_twice", {trial, readable, leave, leave});
  lower("rings_of_the_higher", {proof, rings});
  lower("switch_without_rings", {leave});
  lower("switch_with_words", {trial, readable, frame(FrameType::kSwitch, text("now"))});
  // The switch ends the first piece, so that what follows comes through the ring.
  const auto higher = [&](const std::string& name, const std::vector<Bytes>& before,
                          const std::vector<Bytes>& frames) {
    const std::vector<Step> steps{{static_cast<int>(join(before).size()), step(Act::kReceive, 0, 5)},
                                  {40, step(Act::kSend, 1, 6)},
                                  {255, step(Act::kWait)}};
    to.write(name, play(3, steps, {join(before), join(frames)}));
  };
  higher("rings_taken", {proof, rings, leave},
         {data(0, "hello"), data(2, std::string(3000, 'x')), data(0, "again")});
  higher("rings_taken_bad_frame_by_ring", {proof, rings, leave},
         {data(0, "hello"), text(std::string(30, '?'))});
  higher("rings_taken_full", {proof, rings, leave}, {data(1, std::string(9000, 'y')), data(0, "")});
  higher("rings_taken_offer_by_ring", {proof, rings, leave},
         {offer(0, {1, kPeerMemory + 100, 1000, kPeerTicket})});
  higher("rings_taken_bells_behind_the_switch", {proof, rings, leave, text("ding")}, {data(0, "hello")});
  higher("rings_twice", {proof, rings}, {rings});
  higher("rings_unproven", {rings}, {});
  higher("rings_elsewhere", {proof},
         {frame(FrameType::kRings, encode(RingOffer{kPeerRings + 1, kRingBytes})), leave});
  higher("rings_of_another_size", {proof},
         {frame(FrameType::kRings, encode(RingOffer{kPeerRings, ~std::uint64_t{0}})), leave});
}

// Rendezvous

Bytes part(Role role, const std::vector<Bytes>& parts) {
  return join({numbers({static_cast<int>(role)}), join(parts)});
}

Bytes stage(int host, int others, int piece, int flags) {
  return numbers({host | others << 2, piece, flags});
}

Bytes hello(int rank, int size, const std::string& job = kJob) {
  return frame(FrameType::kHello, encode(Hello{rank, size, job, 4000}));
}

void write_rendezvous(const Folder& to) {
  const Welcome roster{0, {{"", 0}, {"10.0.0.2", 4001}, {"fd00::3", 4002}}};
  const auto guests = [&](const std::string& name, const std::vector<Bytes>& parts) {
    to.write("guests_" + name, part(Role::kGuests, parts));
  };
  guests("all", {stage(0, 3, 0, 0), hello(2, 4), hello(1, 4), hello(3, 4)});
  guests("byte_by_byte", {stage(0, 1, 1, 0), hello(1, 2)});
  guests("above_rank_two", {stage(2, 2, 5, 0), hello(4, 5), hello(3, 5), hello(2, 5)});
  guests("same_rank_twice", {stage(0, 3, 0, 0), hello(2, 4), hello(2, 4)});
  guests("left_and_came_again", {stage(0, 3, 0, 2), hello(2, 4), hello(2, 4), hello(2, 4)});
  guests("of_another_size", {stage(0, 3, 0, 0), hello(1, 8)});
  guests("of_another_job", {stage(0, 3, 0, 0), hello(1, 4, "other")});
  guests("no_such_rank", {stage(0, 3, 0, 0), hello(4, 4), hello(-1, 4), hello(0, 4)});
  guests("hang_up", {stage(0, 3, 7, 1), hello(1, 4)});
  guests("no_hello", {stage(0, 3, 0, 0), frame(FrameType::kWelcome, encode(roster))});
  guests("too_long", {stage(0, 3, 0, 0), frame(FrameType::kHello, Payload(1025))});
  guests("http", {stage(0, 3, 0, 0), text("GET / HTTP/1.1\r\nHost: rank-0\r\n\r\n")});
  const auto host = [&](const std::string& name, const std::vector<Bytes>& parts) {
    to.write("host_" + name, part(Role::kHost, parts));
  };
  host("welcome", {stage(0, 2, 0, 0), frame(FrameType::kWelcome, encode(roster))});
  host("welcome_without_roster", {stage(0, 2, 3, 0), frame(FrameType::kWelcome, encode(Welcome{1, {}}))});
  host("refusal",
       {stage(0, 2, 0, 1), frame(FrameType::kRefusal, encode_refusal("two processes have one rank"))});
  host("refusal_with_escape_codes",
       {stage(0, 2, 0, 0), frame(FrameType::kRefusal, encode_refusal("\x1b[2J\xff"))});
  host("no_place", {stage(0, 2, 0, 0), frame(FrameType::kRefusal, encode_refusal(""))});
  host("no_answer", {stage(0, 2, 0, 0), hello(1, 3)});
  const std::vector<std::pair<std::string, Payload>> payloads{
      {"hello", encode(Hello{1, 4, kJob, 4000})},
      {"welcome", encode(roster)},
      {"refusal", encode_refusal("no")},
      {"departure", encode(Departure{true, "why", 1})},
      {"wait", encode(WaitState{1, tag(0).bits(), 5})},
      {"proof", encode(MemoryProof{kPeerProcess, kPeerMemory})},
      {"offer", encode(OfferedMessage{1, 2, 3})},
      {"ticket", encode_ticket(7)},
      {"token", encode_token({})},
      {"rings", encode(RingOffer{kPeerRings, kRingBytes})}};
  for (std::size_t i = 0; i < payloads.size(); ++i)
    to.write("payload_" + payloads[i].first,
             part(Role::kPayload, {numbers({static_cast<int>(i)}), payloads[i].second}));
  to.write("file", part(Role::kMeetingFile, {text("tacit job 10.0.0.1 4242\n")}));
  to.write("file_of_another_job", part(Role::kMeetingFile, {text("tacit other 10.0.0.1 4242\n")}));
  to.write("file_half", part(Role::kMeetingFile, {text("tacit job 10.0")}));
  to.write("file_long", part(Role::kMeetingFile, {text("tacit job " + std::string(1100, 'h') + " 4242\n")}));
  to.write("point_name", part(Role::kMeetingPoint, {text("tcp://node-0.cluster:29500")}));
  to.write("point_six", part(Role::kMeetingPoint, {text("tcp://[fd00::1]:80")}));
  to.write("point_brackets", part(Role::kMeetingPoint, {text("tcp://[[::1]]:80")}));
  to.write("point_file", part(Role::kMeetingPoint, {text("file:///tmp/meet")}));
  to.write("point_bad_port", part(Role::kMeetingPoint, {text("tcp://node:65536")}));
}

void write_compress(const Folder& to) {
  const std::vector<float> x{0.5F, -2, 0.25F, 0, 3, -0.125F, 0, -4, 1, 0.75F};
  const auto head = [&](std::size_t compressor) {
    return numbers({static_cast<int>(compressor), static_cast<int>(x.size()), 0});
  };
  const auto index_of = [&](const std::string& spec) {
    const auto* const at = std::find(kCompressors.begin(), kCompressors.end(), spec);
    return static_cast<std::size_t>(at - kCompressors.begin());
  };
  for (std::size_t i = 0; i < kCompressors.size(); ++i) {
    const auto by = Compression::parse(kCompressors[i]).maker.compressor();
    Bytes payload(by->max_bytes(x.size()));
    payload.resize(by->encode(x, Rng(1, 0, 0, Rng::Use::kRounding), payload));
    std::string name = kCompressors[i];
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ':' || c == ',' || c == '='; }, '_');
    to.write(name, join({head(i), payload}));
  }
  // A number of entries that no vector has, one position twice, and one beyond the end.
  const Bytes one = numbers({0, 0, 0x80, 0x3F});
  to.write("topk_count", join({head(index_of("topk")), numbers({0xFF, 0xFF, 0xFF, 0xFF})}));
  to.write("drop_duplicate", join({head(index_of("drop")), numbers({2, 0, 0, 0}), numbers({4, 0, 0, 0}),
                                   numbers({4, 0, 0, 0}), one, one}));
  to.write("topk_beyond", join({head(index_of("topk")), numbers({1, 0, 0, 0}), numbers({10, 0, 0, 0}), one}));
}

}  // namespace
}  // namespace tacit::fuzz

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "give the folder to write to\n";
    return 2;
  }
  const std::filesystem::path folder = words[1];
  tacit::fuzz::write_frames(tacit::fuzz::Folder(folder / "frames"));
  tacit::fuzz::write_rings(tacit::fuzz::Folder(folder / "frames"));
  tacit::fuzz::write_rendezvous(tacit::fuzz::Folder(folder / "rendezvous"));
  tacit::fuzz::write_compress(tacit::fuzz::Folder(folder / "compress"));
  return 0;
}
