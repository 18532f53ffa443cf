// SPDX-License-Identifier: MIT
#include "tacit/runlog/events.h"

#include "runlog/json.h"

namespace tacit {

std::string to_json_line(const RunStarted& event) { return to_json(event).dump(); }
std::string to_json_line(const StepsDone& event) { return to_json(event).dump(); }
std::string to_json_line(const Evaluated& event) { return to_json(event).dump(); }
std::string to_json_line(const Summary& event) { return to_json(event).dump(); }

std::string to_json_text(const Summary& summary) {
  Json json = to_json(summary);
  json.erase("event");
  return json.dump(2) + "\n";
}

}  // namespace tacit
