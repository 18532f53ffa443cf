// SPDX-License-Identifier: MIT
// tacit evaluate: how good a model is that was saved.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "checkpoint/store.h"
#include "cli/commands.h"
#include "cli/log.h"
#include "cli/print_or_drop.h"
#include "cli/terminal.h"
#include "tacit/core/error.h"
#include "train/model_file.h"
#include "train/score.h"

namespace tacit::cli {
namespace {

namespace fs = std::filesystem;

struct Settings {
  fs::path model;
  std::string data;
  std::string spec;
  bool json = false;
};

// A file, or the folder of a run or a checkpoint that has one.
fs::path file_of(const fs::path& given) {
  std::error_code error;
  return fs::is_directory(given, error) ? given / kModelFile : given;
}

std::string text(const ImageShape& in, int classes) {
  return fmt::format("images of {} x {} x {} in {} classes", in.channels, in.height, in.width, classes);
}

DescribedModel described(const Settings& s, const fs::path& file, const Dataset& data) {
  if (!s.spec.empty()) return {s.spec, {data.shape, data.classes}};
  const DescribedModel model = described_in(file, SafetensorsFile(file).metadata());
  if (model.context.input != data.shape || model.context.classes != data.classes)
    throw InvalidConfig(fmt::format(
        "{} is of a model for {}, and {} has {}; give --data that it was trained for", file.string(),
        text(model.context.input, model.context.classes), s.data, text(data.shape, data.classes)));
  return model;
}

int run(const Settings& s) {
  start_log();
  const fs::path file = file_of(s.model);
  SafetensorsFile{file};  // refused before the data is loaded
  builtin_datasets().find(s.data);
  const DataPair data = load_dataset(s.data);
  const DescribedModel about = described(s, file, data.test);
  const ModelRegistry models =
      all_models(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  const auto model = make_model(models, about.spec, about.context);
  load_model(file, *model);
  Batch batch;
  const Score result = score_samples(*model, data.test, {0, data.test.size()}, batch);
  for (const std::string& what : data.test.samples->take_warnings(true)) spdlog::warn("{}", what);
  const auto samples = static_cast<double>(result.samples);
  const double loss = result.loss / samples;
  const double accuracy = static_cast<double>(result.correct) / samples;
  if (s.json) {
    nlohmann::ordered_json json{{"model", about.spec},
                                {"file", file.string()},
                                {"data", s.data},
                                {"samples", result.samples},
                                {"test_loss", loss}};
    json["accuracy"] = model->classifies() ? nlohmann::ordered_json(accuracy) : nullptr;
    print_or_drop(stdout, "{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return 0;
  }
  print_or_drop(stdout,
                "model           {} of {}\ndata            {}, {} test samples\ntest loss       {:.4f}\n",
                about.spec, file.string(), s.data, result.samples, loss);
  if (model->classifies()) print_or_drop(stdout, "test accuracy   {:.2f} %\n", 100 * accuracy);
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& app, Action& action) {
  auto* evaluate =
      app.add_subcommand("evaluate", "Say how good a model is that `tacit train --out` has saved");
  evaluate->footer("Example:\n  tacit evaluate out/demo/model.safetensors --data fashion-mnist");
  auto s = std::make_shared<Settings>();
  evaluate
      ->add_option("file", s->model, "model.safetensors, or the folder of a run or checkpoint that has one")
      ->required();
  evaluate->add_option("--data", s->data, "Data set, whose test samples count")->required();
  evaluate->add_option("--model", s->spec, "Network, for files that do not say which one they are of");
  evaluate->add_flag("--json", s->json, "Print the result as JSON");
  evaluate->callback([=, &action] { action = [=] { return run(*s); }; });
}

}  // namespace tacit::cli
