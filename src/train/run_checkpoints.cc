// SPDX-License-Identifier: MIT
#include "train/run_checkpoints.h"

#include <utility>
#include <vector>

#include "checkpoint/checksum.h"
#include "checkpoint/state_file.h"
#include "checkpoint/store.h"
#include "tacit/core/error.h"
#include "tacit/core/state.h"
#include "tacit/core/version.h"
#include "train/data/shards.h"

namespace tacit {
namespace {

void save_counts(const RankReport& report, const LossCount& losses, StateWriter& state) {
  state.write("report", pack(report));
  state.write("evaluations", std::as_bytes(std::span(report.evaluations)));
  state.write("losses", std::as_bytes(std::span(&losses, 1)));
}

void load_counts(StateReader& state, RankReport& report, LossCount& losses) {
  const RankReport then = unpack(state.bytes("report"));
  const ConstBytes evaluations = state.bytes("evaluations");
  report = then;
  report.evaluations.resize(evaluations.size() / sizeof(Evaluated));
  copy(evaluations, std::as_writable_bytes(std::span(report.evaluations)));
  state.read("losses", std::as_writable_bytes(std::span(&losses, 1)));
}

void save_losses(const RankReport& report, StateWriter& state) {
  state.write("losses", report.lost.size());
  for (const RankLost& each : report.lost) {
    state.write("rank", static_cast<std::uint64_t>(each.rank));
    state.write("step", static_cast<std::uint64_t>(each.step));
    state.write("back", static_cast<std::uint64_t>(each.back));
    state.write("why", std::as_bytes(std::span(each.why)));
  }
}

void load_losses(StateReader& state, RankReport& report) {
  report.lost.resize(state.number("losses"));
  for (RankLost& each : report.lost) {
    each.rank = static_cast<int>(state.number("rank"));
    each.step = static_cast<std::int64_t>(state.number("step"));
    each.back = static_cast<std::int64_t>(state.number("back"));
    const ConstBytes why = state.bytes("why");
    each.why.assign(reinterpret_cast<const char*>(why.data()), why.size());
  }
}

void save_replica(Model& model, const Optimizer& optimizer, StateWriter& state) {
  state.write("params", ConstFloatView(model.params()));
  for (const FloatView buffer : model.buffers()) state.write("buffer", ConstFloatView(buffer));
  optimizer.save(state);
}

void load_replica(StateReader& state, Model& model, Optimizer& optimizer) {
  state.read("params", model.params());
  for (const FloatView buffer : model.buffers()) state.read("buffer", buffer);
  optimizer.load(state);
}

std::string count(int ranks) { return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"); }

}  // namespace

void RunCheckpoints::find() {
  const CheckpointOptions& o = parts_.job.options.checkpoint;
  if (o.resume.empty()) return;
  found_ = common_checkpoint(parts_.me, o.resume);
  const std::int64_t total = parts_.worker.steps_of_run();
  if (first_step() >= total)
    throw InvalidConfig(found_->path.string() + " is of a run with " + std::to_string(first_step()) +
                        " steps done, and this one has " + std::to_string(total) +
                        ": nothing is left; give more --epochs or --steps");
  if (!same_ranks()) load_mean_model();
}

// Where the number of ranks is another, a pass over the data has another number of steps: the run goes on where it was in
// the data. A run that is told its steps makes those that are left.
std::int64_t RunCheckpoints::first_step() const {
  const Manifest& m = found_->manifest;
  if (same_ranks() || parts_.job.options.steps > 0) return m.step;
  return m.step * m.ranks / parts_.me.size();
}

void RunCheckpoints::load_mean_model() {
  if (parts_.me.rank() == 0) {  // whose weights Strategy::start gives to all
    check_file(found_->path, found_->manifest, kModelFile);
    if (file_crc(found_->path / kModelFile) != found_->manifest.find(kModelFile)->crc)
      throw InvalidConfig((found_->path / kModelFile).string() +
                          " is damaged: its checksum is not the manifest's; resume from another checkpoint");
    load_model(found_->path / kModelFile, parts_.model);
  }
  for (const FloatView buffer : parts_.model.buffers()) parts_.me.control().broadcast(bytes_of(buffer), 0);
  parts_.worker.set_origin(first_step());
}

std::int64_t RunCheckpoints::resume(RankReport& report, LossCount& losses) {
  std::int64_t first = 0;
  if (found_) {
    first = first_step();
    if (same_ranks()) {
      const std::vector<std::byte> bytes = state_in(*found_, parts_.me.rank());
      StateReader state(bytes);
      load(state, report, losses);
    }
    report.steps = first;
    parts_.me.control().barrier();  // all could
    tell(first);
  }
  begin_writing(first, std::nullopt);
  return first;
}

void RunCheckpoints::lend(std::int64_t steps_done, const RankReport& report, StateWriter& state) {
  state.write("step", static_cast<std::uint64_t>(steps_done));
  state.write("origin", static_cast<std::uint64_t>(parts_.worker.origin()));
  save_counts(report, {}, state);
  save_losses(report, state);
  save_replica(parts_.model, parts_.optimizer, state);
  if (writer_) state.write("job", writer_->job());
  if (writer_) plan_->lend(state);
  parts_.strategy.lend(parts_.worker, state);
}

std::int64_t RunCheckpoints::rejoin(StateReader& state, RankReport& report) {
  LossCount none;
  const auto steps_done = static_cast<std::int64_t>(state.number("step"));
  parts_.worker.set_origin(static_cast<std::int64_t>(state.number("origin")));
  load_counts(state, report, none);
  load_losses(state, report);
  report.sent = {};  // this process has sent nothing yet
  report.steps = steps_done;
  parts_.worker.set_t(steps_done - parts_.worker.origin());
  load_replica(state, parts_.model, parts_.optimizer);
  if (!parts_.job.options.checkpoint.folder.empty()) {
    begin_writing(steps_done, state.number("job"));
    plan_->rejoin(state);
  }
  parts_.strategy.rejoin(parts_.worker, state);
  return steps_done;
}

void RunCheckpoints::load(StateReader& state, RankReport& report, LossCount& losses) {
  load_counts(state, report, losses);
  // The next step's, as it was when this was saved.
  parts_.worker.set_t(found_->manifest.step);
  load_replica(state, parts_.model, parts_.optimizer);
  parts_.strategy.load(parts_.worker, state);
  if (!state.at_end())
    throw InvalidConfig((found_->path / state_file_name(parts_.me.rank())).string() +
                        " has more than this run knows of; resume with the version that wrote it");
}

void RunCheckpoints::tell(std::int64_t first) const {
  if (parts_.me.rank() != 0) return;
  std::string dropped;
  if (!same_ranks())
    dropped =
        "it is of " + count(found_->manifest.ranks) + " and this run has " + count(parts_.me.size()) +
        ": the run goes on from the mean model, and what the optimiser and the strategy kept on each rank "
        "is dropped";
  if (!same_ranks() && !Sharding::parse(parts_.job.options.shards).iid())
    dropped += "; the samples are dealt out anew among " + count(parts_.me.size());
  parts_.job.observer.on_resume({version(), first, parts_.me.size(), found_->path.string(), dropped});
}

void RunCheckpoints::begin_writing(std::int64_t first, std::optional<std::uint64_t> lent) {
  const CheckpointOptions& o = parts_.job.options.checkpoint;
  if (o.folder.empty()) return;
  const std::uint64_t job = lent ? *lent : found_ ? found_->manifest.job : draw_job(parts_.me);
  writer_ = std::make_unique<Checkpointer>(
      parts_.me, Checkpointer::Given{o.folder, o.keep, job, o.settings, [this](const std::string& what) {
                                       parts_.job.observer.on_warning(what);
                                     }});
  plan_.emplace(parts_.me, o, first);
}

void RunCheckpoints::save(std::int64_t steps_done, const RankReport& report, const LossCount& losses) {
  StateWriter state;
  save_counts(report, losses, state);
  save_replica(parts_.model, parts_.optimizer, state);
  parts_.strategy.save(parts_.worker, state);
  std::unique_ptr<const ModelCopy> model;
  {
    const EvaluationPoint point(parts_.worker, parts_.strategy);
    if (parts_.me.rank() == parts_.me.control().living().front())
      model = std::make_unique<const ModelCopy>(parts_.model, parts_.job.about_model);
  }
  writer_->write(steps_done, std::move(state), std::move(model));
}

}  // namespace tacit
