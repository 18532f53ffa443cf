// SPDX-License-Identifier: MIT
#include "cli/launch/protocol.h"

#include <nlohmann/json.hpp>

#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

using nlohmann::json;

constexpr int kVersion = 2;
constexpr const char* kVersionKey = "tacit_node";

// JSON holds text alone: bytes above 127 become two, as if they were Latin-1.
std::string pack(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xC0U | (byte >> 6U));
    text += static_cast<char>(byte >= 0x80 ? 0x80U | (byte & 0x3FU) : byte);
  }
  return text;
}

std::string unpack(const std::string& text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      bytes += text[i];
    } else {
      const auto next = static_cast<unsigned char>(text.at(++i));
      bytes += static_cast<char>(((byte & 3U) << 6U) | (next & 0x3FU));
    }
  }
  return bytes;
}

std::string line_of(const json& object) { return object.dump() + "\n"; }

json to_json(const Hello& hello) { return {{kVersionKey, kVersion}, {"port", hello.port}}; }
json to_json(const RankOutput& output) {
  return {{"rank", output.rank}, {"error", output.stream == Stream::kErr}, {"bytes", pack(output.bytes)}};
}
json to_json(const RankNoted& noted) {
  return {{"rank", noted.rank}, {"given_up", noted.note == LauncherNote::kGivenUp}};
}
json to_json(const RankEnded& ended) {
  const bool exited = ended.how.kind == Ending::Kind::kExited;
  return {{"rank", ended.rank}, {exited ? "exit" : "signal", ended.how.value}};
}
json to_json(const Refusal& refusal) { return {{"refused", pack(refusal.why)}}; }

NodeMessage message_from(const json& object) {
  if (object.contains(kVersionKey)) {
    if (object.at(kVersionKey) != kVersion) return Refusal{"another version of Tacit is there"};
    return Hello{object.at("port").get<std::uint16_t>()};
  }
  if (object.contains("refused")) return Refusal{unpack(object.at("refused").get<std::string>())};
  const int rank = object.at("rank").get<int>();
  if (object.contains("exit")) return RankEnded{rank, Ending::exited(object.at("exit").get<int>())};
  if (object.contains("signal")) return RankEnded{rank, Ending::killed(object.at("signal").get<int>())};
  if (object.contains("given_up")) {
    const bool given_up = object.at("given_up").get<bool>();
    return RankNoted{rank, given_up ? LauncherNote::kGivenUp : LauncherNote::kOthersGoOn};
  }
  return RankOutput{rank, object.at("error").get<bool>() ? Stream::kErr : Stream::kOut,
                    unpack(object.at("bytes").get<std::string>())};
}

NodeJob job_from(const json& object) {
  NodeJob out;
  out.job.id = object.at("job").get<std::string>();
  out.job.size = object.at("size").get<int>();
  if (object.contains("key")) out.job.key = JobKey::from_hex(object.at("key").get<std::string>());
  out.job.rendezvous = unpack(object.at("rendezvous").get<std::string>());
  for (const json& word : object.at("command")) out.job.command.push_back(unpack(word.get<std::string>()));
  out.share = {object.at("first").get<int>(), object.at("count").get<int>()};
  out.directory = unpack(object.at("directory").get<std::string>());
  out.host = unpack(object.at("host").get<std::string>());
  if (out.job.command.empty() || out.share.first < 0 || out.share.count < 1 ||
      out.share.first + out.share.count > out.job.size)
    throw InvalidConfig("the job that was sent has no program or impossible ranks");
  return out;
}

}  // namespace

std::string to_line(const NodeJob& job) {
  json command = json::array();
  for (const std::string& word : job.job.command) command.push_back(pack(word));
  json object{{kVersionKey, kVersion},    {"job", job.job.id},
              {"size", job.job.size},     {"rendezvous", pack(job.job.rendezvous)},
              {"first", job.share.first}, {"count", job.share.count},
              {"command", command},       {"directory", pack(job.directory)},
              {"host", pack(job.host)}};
  if (job.job.key) object["key"] = job.job.key->hex();
  return line_of(object);
}

NodeJob parse_job(const std::string& line) {
  const json object = json::parse(line, nullptr, false);
  if (object.is_discarded() || !object.is_object() || !object.contains(kVersionKey))
    throw InvalidConfig("--node is for tacit launch --hosts, which sends a job on stdin; this was none");
  if (object.at(kVersionKey) != kVersion)
    throw InvalidConfig("the launcher is another version of Tacit; install the same one on all hosts");
  try {
    return job_from(object);
  } catch (const json::exception&) {
    throw InvalidConfig("the launcher sent a job that lacks something; install the same Tacit on all hosts");
  }
}

std::string to_line(const SignalOrder& order) {
  json object{{"signal", order.number}};
  if (order.rank) object["rank"] = *order.rank;
  return line_of(object);
}

std::optional<SignalOrder> parse_signal(const std::string& line) {
  const json object = json::parse(line, nullptr, false);
  const auto integer = [&](const char* name) {
    const bool there = object.is_object() && object.contains(name) && object[name].is_number_integer();
    return there ? std::optional(object[name].get<int>()) : std::nullopt;
  };
  const auto number = integer("signal");
  if (!number) return std::nullopt;
  return SignalOrder{*number, integer("rank")};
}

std::string to_line(const NodeMessage& message) {
  return std::visit([](const auto& kind) { return line_of(to_json(kind)); }, message);
}

std::optional<NodeMessage> parse_message(const std::string& line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  try {
    return message_from(object);
  } catch (const std::exception&) {  // a key that is missing, or a value of another type
    return std::nullopt;
  }
}

std::string rendezvous_at(const std::string& host, std::uint16_t port) {
  const std::size_t user = host.rfind('@');
  const std::string name = user == std::string::npos ? host : host.substr(user + 1);
  const bool brackets = name.find(':') != std::string::npos && name.front() != '[';
  return "tcp://" + (brackets ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

}  // namespace tacit::cli
