// SPDX-License-Identifier: MIT
#include "cli/comparison_json.h"

#include "cli/comparison_table.h"
#include "core/whole_file.h"
#include "tacit/core/error.h"

namespace tacit::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* text_of(RunStatus status) {
  switch (status) {
    case RunStatus::kFinished:
      return "finished";
    case RunStatus::kDiverged:
      return "diverged";
    case RunStatus::kFailed:
      return "failed";
    default:
      return "missing";
  }
}

Json to_json(const Identity& i) {
  return {{"options", i.options}, {"cluster", i.cluster}, {"data", i.data}, {"program", i.program}};
}

Json to_json(const Outcome& o) {
  Json json{{"seed", o.seed},
            {"status", text_of(o.status)},
            {"error", o.error},
            {"picked_up", o.picked_up},
            {"identity", to_json(o.identity)}};
  if (!o.has_numbers()) return json;
  json.update({{"step_seconds", o.step_seconds},
               {"seconds", optional_json(o.seconds)},
               {"target_seconds", optional_json(o.target_seconds)},
               {"accuracy", optional_json(o.accuracy)},
               {"bytes_per_worker", o.bytes_per_worker},
               {"computing", o.computing},
               {"communicating", o.communicating},
               {"waiting", o.waiting},
               {"trace_hash", o.trace_hash},
               {"weights_hash", o.weights_hash}});
  return json;
}

Json to_json(const Row& row, const Row& first) {
  Json runs = Json::array();
  for (const Outcome& o : row.outcomes) runs.push_back(to_json(o));
  const auto mean = [&](const Value& value) {
    const auto s = sample_of(row, value);
    return s ? Json(s->mean) : Json(nullptr);
  };
  const auto accuracies = sample_of(row, accuracy);
  return {{"strategy", row.name},
          {"workers", row.workers},
          {"step_seconds", mean(step_seconds)},
          {"seconds", mean(seconds)},
          {"target_seconds", mean(target_seconds)},
          {"accuracy", mean(accuracy)},
          {"accuracy_deviation", optional_json(accuracies ? accuracies->deviation : std::nullopt)},
          {"accuracy_n", accuracies ? accuracies->n : 0},
          {"accuracy_difference", to_json(&row == &first ? std::nullopt : accuracy_difference(row, first))},
          {"bytes_per_worker", mean(bytes)},
          {"computing", mean(computing)},
          {"communicating", mean(communicating)},
          {"waiting", mean(waiting)},
          {"speed_up", optional_json(row.speed_up)},
          {"runs", runs}};
}

}  // namespace

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const std::optional<PairedDifference>& d) {
  if (!d) return nullptr;
  const auto chance = d->may_be_chance();
  Json json{{"n", d->sample.n},
            {"mean", d->sample.mean},
            {"deviation", optional_json(d->sample.deviation)},
            {"low", nullptr},
            {"high", nullptr},
            {"may_be_chance", chance ? Json(*chance) : Json(nullptr)}};
  if (d->interval) json.update({{"low", d->interval->low}, {"high", d->interval->high}});
  return json;
}

Json to_json(const Comparison& c) {
  Json rows = Json::array();
  for (const Row& row : c.rows) rows.push_back(to_json(row, c.first_of(row)));
  return {{"title", c.title},
          {"machine", c.machine},
          {"target", optional_json(c.target)},
          {"complete", c.complete()},
          {"rows", rows}};
}

Identity identity_from(const Json& json) {
  return {json.at("options"), json.at("cluster"), json.at("data"), json.at("program")};
}

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

void write_account(const std::filesystem::path& file, const Json& json) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  try {
    write_whole_file(file, json_text(json) + "\n");
  } catch (const Error& why) {
    throw InvalidConfig(std::string(why.what()) + "; give --out a place you may write to");
  }
}

}  // namespace tacit::cli
