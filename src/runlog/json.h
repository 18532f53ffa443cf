// SPDX-License-Identifier: MIT
// Events as JSON. One place names every field, for writing and for reading (read_json.h): fields(event, visit) calls
// visit("name", member).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tacit/runlog/events.h"

namespace tacit {

using Json = nlohmann::ordered_json;

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, RunStarted>
void fields(E& e, const Visit& visit) {
  visit("version", e.version);
  visit("strategy", e.strategy);
  visit("compress", e.compress);
  visit("model", e.model);
  visit("data", e.data);
  visit("shards", e.shards);
  visit("shard_spread", e.shard_spread);
  visit("optimizer", e.optimizer);
  visit("schedule", e.schedule);
  visit("world", e.world);
  visit("workers", e.workers);
  visit("batch", e.batch);
  visit("lr", e.lr);
  visit("seed", e.seed);
  visit("steps", e.steps);
  visit("parameters", e.parameters);
}

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, RunResumed>
void fields(E& e, const Visit& visit) {
  visit("version", e.version);
  visit("step", e.step);
  visit("workers", e.workers);
  visit("from", e.from);
  visit("dropped", e.dropped);
}

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, StepsDone>
void fields(E& e, const Visit& visit) {
  visit("rank", e.rank);
  visit("step", e.step);
  visit("loss", e.loss);
  visit("lr", e.lr);
  visit("seconds", e.seconds);
}

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, Evaluated>
void fields(E& e, const Visit& visit) {
  visit("step", e.step);
  visit("epoch", e.epoch);
  visit("loss", e.loss);
  visit("accuracy", e.accuracy);
  visit("seconds", e.seconds);
}

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, RankTimes>
void fields(E& e, const Visit& visit) {
  visit("rank", e.rank);
  visit("compute", e.compute);
  visit("communicate", e.communicate);
  visit("wait", e.wait);
  visit("bytes", e.bytes);
}

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, RankLost> || std::is_same_v<std::remove_const_t<E>, RankBack>
void fields(E& e, const Visit& visit) {
  visit("rank", e.rank);
  visit("step", e.step);
  if constexpr (requires { e.why; }) {
    visit("why", e.why);
    visit("back", e.back);
  }
}

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, ShardSpread>
void fields(E& e, const Visit& visit) {
  visit("smallest", e.smallest);
  visit("largest", e.largest);
  visit("largest_class", e.largest_class);
}

// Logs of earlier versions have none of these.
inline bool is_recent(std::string_view name) {
  return name == "advice" || name == "back" || name == "shards";
}

// For those that stand inside others.
template <class E>
concept Inner = std::is_same_v<E, RankLost> || std::is_same_v<E, RankTimes> || std::is_same_v<E, ShardSpread>;
template <Inner E>
void to_json(Json& json, const E& each) {
  fields(each, [&](const char* name, const auto& value) { json[name] = value; });
}
template <Inner E>
void from_json(const Json& json, E& each) {
  fields(each, [&](const char* name, auto& value) {
    if (!is_recent(name) || json.contains(name)) json.at(name).get_to(value);
  });
}

template <class E, class Visit>
requires std::is_same_v<std::remove_const_t<E>, Summary>
void fields(E& e, const Visit& visit) {
  visit("status", e.status);
  visit("error", e.error);
  visit("strategy", e.strategy);
  visit("compress", e.compress);
  visit("model", e.model);
  visit("data", e.data);
  visit("shards", e.shards);
  visit("shard_spread", e.shard_spread);
  visit("world", e.world);
  visit("workers", e.workers);
  visit("only_rank", e.only_rank);
  visit("steps", e.steps);
  visit("samples", e.samples);
  visit("seconds", e.seconds);
  visit("samples_per_second", e.samples_per_second);
  visit("loss", e.loss);
  visit("test_loss", e.test_loss);
  visit("accuracy", e.accuracy);
  visit("target_seconds", e.target_seconds);
  visit("bytes_payload", e.bytes_payload);
  visit("bytes_wire", e.bytes_wire);
  visit("messages", e.messages);
  visit("seed", e.seed);
  visit("weights_hash", e.weights_hash);
  visit("lost", e.lost);
  visit("compute_seconds", e.compute_seconds);
  visit("communicate_seconds", e.communicate_seconds);
  visit("wait_seconds", e.wait_seconds);
  visit("ranks", e.ranks);
  visit("advice", e.advice);
  visit("trace_hash", e.trace_hash);
}

inline const char* event_name(const RunStarted&) { return "run_started"; }
inline const char* event_name(const RunResumed&) { return "run_resumed"; }
inline const char* event_name(const StepsDone&) { return "steps_done"; }
inline const char* event_name(const Evaluated&) { return "evaluated"; }
inline const char* event_name(const RankTimes&) { return "rank_times"; }
inline const char* event_name(const RankLost&) { return "rank_lost"; }
inline const char* event_name(const RankBack&) { return "rank_back"; }
inline const char* event_name(const Summary&) { return "run_ended"; }

template <class Event>
Json to_json(const Event& event) {
  Json json;
  json["event"] = event_name(event);
  fields(event, [&](const char* name, const auto& value) {
    if constexpr (requires { value.has_value(); }) {
      json[name] = value ? Json(*value) : Json(nullptr);
    } else {
      json[name] = value;
    }
  });
  return json;
}

// Never throws: a path or message in another encoding than UTF-8 gets replacement characters.
inline std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tacit
