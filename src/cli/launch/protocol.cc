// SPDX-License-Identifier: MIT
#include "cli/launch/protocol.h"

#include <nlohmann/json.hpp>

#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

using nlohmann::json;

constexpr int kVersion = 3;
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
  return {{"rank", noted.rank}, {"note", static_cast<int>(noted.note)}, {"port", noted.port}};
}
json to_json(const RankEnded& ended) {
  if (ended.how.kind == Ending::Kind::kNotStarted)
    return {{"rank", ended.rank}, {"not_started", pack(ended.how.why)}};
  const bool exited = ended.how.kind == Ending::Kind::kExited;
  return {{"rank", ended.rank}, {exited ? "exit" : "signal", ended.how.value}};
}
json to_json(const Refusal& refusal) { return {{"refused", pack(refusal.why)}}; }

LauncherNote note_from(int number) {
  if (number < 0 || number > static_cast<int>(LauncherNote::kGivenUp)) throw InvalidConfig("no such note");
  return static_cast<LauncherNote>(number);
}

NodeMessage message_from(const json& object) {
  if (object.contains(kVersionKey)) {
    if (object.at(kVersionKey) != kVersion) return Refusal{"another version of Tacit is there"};
    return Hello{object.at("port").get<std::uint16_t>()};
  }
  if (object.contains("refused")) return Refusal{unpack(object.at("refused").get<std::string>())};
  const int rank = object.at("rank").get<int>();
  if (object.contains("exit")) return RankEnded{rank, Ending::exited(object.at("exit").get<int>())};
  if (object.contains("signal")) return RankEnded{rank, Ending::killed(object.at("signal").get<int>())};
  if (object.contains("not_started"))
    return RankEnded{rank, Ending::not_started(unpack(object.at("not_started").get<std::string>()))};
  if (object.contains("note"))
    return RankNoted{rank, note_from(object.at("note").get<int>()), object.at("port").get<std::uint16_t>()};
  return RankOutput{rank, object.at("error").get<bool>() ? Stream::kErr : Stream::kOut,
                    unpack(object.at("bytes").get<std::string>())};
}

json to_json(const SignalOrder& order) {
  json object{{"signal", order.number}};
  if (order.rank) object["rank"] = *order.rank;
  return object;
}
json to_json(const Return& how) {
  return {{"return", how.number}, {"rank", how.rank}, {"members", pack(how.members)}};
}

NodeOrder order_from(const json& object) {
  const auto rank = object.contains("rank") ? std::optional(object.at("rank").get<int>()) : std::nullopt;
  if (object.contains("signal")) return SignalOrder{object.at("signal").get<int>(), rank};
  return Return{rank.value(), object.at("return").get<int>(),
                unpack(object.at("members").get<std::string>())};
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
  out.starts = object.at("starts").get<bool>();
  out.job.restarts = object.at("restarts").get<bool>();
  if (out.job.command.empty() || out.share.first < 0 || out.share.count < 1 ||
      out.share.first + out.share.count > out.job.size)
    throw InvalidConfig("the job that was sent has no program or impossible ranks");
  return out;
}

}  // namespace

std::string to_line(const NodeJob& job) {
  json command = json::array();
  for (const std::string& word : job.job.command) command.push_back(pack(word));
  json object{{kVersionKey, kVersion},       {"job", job.job.id},
              {"size", job.job.size},        {"rendezvous", pack(job.job.rendezvous)},
              {"first", job.share.first},    {"count", job.share.count},
              {"command", command},          {"directory", pack(job.directory)},
              {"host", pack(job.host)},      {"starts", job.starts},
              {"restarts", job.job.restarts}};
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

std::string to_line(const NodeOrder& order) {
  return std::visit([](const auto& kind) { return line_of(to_json(kind)); }, order);
}

std::optional<NodeOrder> parse_order(const std::string& line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  try {
    return order_from(object);
  } catch (const std::exception&) {  // a key that is missing, or a value of another type
    return std::nullopt;
  }
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

}  // namespace tacit::cli
