// SPDX-License-Identifier: MIT
#include "cli/alike.h"

#include <fmt/format.h>

#include "cli/modules/build_id.h"
#include "tacit/core/options.h"

namespace tacit::cli {

std::string data_alike(const std::string& spec) {
  const Spec data = Spec::parse(spec);
  std::string text = data.name;
  for (const auto& [key, value] : data.options)
    if (key != "path") text += (text == data.name ? ":" : ",") + key + "=" + value;
  return text;
}

std::vector<Setting> alike(const TrainSettings& s) {
  const TrainOptions& t = s.train;
  const bool by_steps = t.steps > 0;
  return {{"--strategy", t.strategy},
          {"--compress", t.compress},
          {"--model", s.model},
          {"--data", data_alike(s.data)},
          {"--shards", t.shards},
          {"--epochs", by_steps ? "" : fmt::to_string(t.epochs)},
          {"--steps", by_steps ? fmt::to_string(t.steps) : ""},
          {"--bucket", t.bucket},
          {"--batch", fmt::to_string(t.batch)},
          {"--lr", fmt::format("{}", t.lr)},
          {"--schedule", t.schedule},
          {"--optimizer", t.optimizer},
          {"--seed", fmt::to_string(t.seed)},
          {"--evaluate-every", fmt::to_string(t.evaluate_every)},
          {"--target", t.target ? fmt::format("{}", *t.target) : ""},
          {"the build of tacit", kBuildId}};
}

}  // namespace tacit::cli
