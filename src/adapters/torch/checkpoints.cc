// SPDX-License-Identifier: MIT
#include "adapters/torch/checkpoints.h"

#include <torch/serialize/archive.h>

#include <iostream>
#include <sstream>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/state.h"
#include "train/find_checkpoint.h"

namespace tacit::torch {
namespace {

// What the optimiser remembers and is set to, as LibTorch writes it. It finds the parameters again by their order.
std::string packed(const ::torch::optim::Optimizer& optimizer) {
  ::torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream out;
  archive.save_to(out);
  return std::move(out).str();
}

void unpack(ConstBytes bytes, ::torch::optim::Optimizer& optimizer) {
  ::torch::serialize::InputArchive archive;
  archive.load_from(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  optimizer.load(archive);
}

}  // namespace

CheckpointSettings Checkpoints::settings() const {
  return {{"the strategy", parts_.strategy_text}, {"Options::compress", parts_.compress}};
}

std::unique_ptr<const ModelCopy> Checkpoints::copy_model() {
  const EvaluationPoint point(parts_.worker, *parts_.strategy);
  if (parts_.process.rank() != parts_.process.control().living().front()) return nullptr;
  return std::make_unique<const ModelCopy>(parts_.flat.shapes(), parts_.flat.floats(),
                                           Metadata{{"format", "pt"}});
}

void Checkpoints::save(const std::string& folder, int keep) {
  if (keep < 1) throw InvalidConfig("save() was told to keep " + std::to_string(keep) + "; keep 1 or more");
  if (!writer_ || folder != folder_) {
    finish();
    if (!job_) job_ = draw_job(parts_.process);
    folder_ = folder;
    writer_ = std::make_unique<Checkpointer>(
        parts_.process, Checkpointer::Given{folder, keep, *job_, settings(), [](const std::string& what) {
                                              std::cerr << "tacit: warning: " + what + "\n";
                                            }});
  }
  StateWriter state;
  state.write("params", ConstFloatView(parts_.flat.params()));
  for (const Bytes each : parts_.flat.fixed()) state.write("fixed", ConstBytes(each));
  const std::string optimizer = packed(parts_.optimizer);
  state.write("optimizer", std::as_bytes(std::span(optimizer)));
  parts_.strategy->save(parts_.worker, state);
  writer_->write(parts_.worker.t(), std::move(state), copy_model());
}

std::int64_t Checkpoints::load(const std::string& folder) {
  const FoundCheckpoint found = common_checkpoint(parts_.process, folder);
  const Manifest& then = found.manifest;
  if (then.ranks != parts_.process.size())
    throw InvalidConfig(found.path.string() + " is of " + std::to_string(then.ranks) +
                        " ranks and this run has " + std::to_string(parts_.process.size()) +
                        "; to go on from its mean model, call tacit::torch::load_model(module, \"" +
                        found.path.string() + "\") before Replicated is made, in place of load()");
  for (const std::string& other : differences(then.settings, settings()))
    throw InvalidConfig("load(\"" + folder + "\"): " + other + "; go on with what the run was begun with");
  const std::vector<std::byte> bytes = state_in(found, parts_.process.rank());
  StateReader state(bytes);
  parts_.worker.set_t(then.step);
  state.read("params", parts_.flat.params());
  for (const Bytes each : parts_.flat.fixed()) state.read("fixed", each);
  unpack(state.bytes("optimizer"), parts_.optimizer);
  parts_.strategy->load(parts_.worker, state);
  job_ = then.job;
  return then.step;
}

}  // namespace tacit::torch
