// SPDX-License-Identifier: MIT
#include "tacit/runlog/events.h"

#include "runlog/json.h"

namespace tacit {

std::string to_json_line(const RunStarted& event) { return dump(to_json(event)); }
std::string to_json_line(const RunResumed& event) { return dump(to_json(event)); }
std::string to_json_line(const StepsDone& event) { return dump(to_json(event)); }
std::string to_json_line(const Evaluated& event) { return dump(to_json(event)); }
std::string to_json_line(const RankTimes& event) { return dump(to_json(event)); }
std::string to_json_line(const RankLost& event) { return dump(to_json(event)); }
std::string to_json_line(const RankBack& event) { return dump(to_json(event)); }
std::string to_json_line(const Summary& event) { return dump(to_json(event)); }

std::string to_json_text(const Summary& summary) {
  Json json = to_json(summary);
  json.erase("event");
  return dump(json, 2) + "\n";
}

}  // namespace tacit
