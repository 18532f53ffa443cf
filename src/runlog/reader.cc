// SPDX-License-Identifier: MIT
#include "runlog/reader.h"

#include <fstream>

#include "core/files.h"
#include "runlog/read_json.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

// What the run that died did beyond its checkpoint is done again.
void go_on(const RunResumed& resumed, RunRecord& record) {
  const auto later = [&](const auto& event) { return event.step > resumed.step; };
  std::erase_if(record.steps, later);
  std::erase_if(record.evaluations, later);
  record.times.clear();
  record.ended.reset();
}

void note_return(const RankBack& back, RunRecord& record) {
  for (RankLost& lost : record.lost)
    if (lost.rank == back.rank && lost.back < 0) lost.back = back.step;
}

void take(const Json& json, RunRecord& record) {
  const auto name = json.at("event").get<std::string>();
  if (name == event_name(RunStarted{})) record.started = from_json<RunStarted>(json);
  if (name == event_name(RunResumed{})) go_on(from_json<RunResumed>(json), record);
  if (name == event_name(StepsDone{})) record.steps.push_back(from_json<StepsDone>(json));
  if (name == event_name(Evaluated{})) record.evaluations.push_back(from_json<Evaluated>(json));
  if (name == event_name(RankTimes{})) record.times.push_back(from_json<RankTimes>(json));
  if (name == event_name(RankLost{})) record.lost.push_back(from_json<RankLost>(json));
  if (name == event_name(RankBack{})) note_return(from_json<RankBack>(json), record);
  if (name == event_name(Summary{})) record.ended = from_json<Summary>(json);
}

}  // namespace

RunRecord read_run_log(const std::filesystem::path& file) {
  if (const std::error_code error = reading_error(file))
    throw InvalidConfig(unreadable(file, error) + "; give the run.jsonl of a run");
  std::ifstream in(file);
  RunRecord record;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const bool cut_off = in.eof();  // no newline: the run died while writing it
    try {
      take(Json::parse(line), record);
    } catch (const nlohmann::json::exception& error) {
      if (cut_off) break;
      throw InvalidConfig(file.string() + ", line " + std::to_string(number) +
                          " is no run event: " + error.what());
    }
  }
  return record;
}

}  // namespace tacit
