// SPDX-License-Identifier: MIT
#include "train/checkpointer.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <random>
#include <utility>

#include "checkpoint/state_file.h"
#include "collectives/gather.h"
#include "core/hash.h"
#include "tacit/core/error.h"

namespace tacit {
namespace {

namespace fs = std::filesystem;

fs::path probe_of(const fs::path& folder, std::uint64_t job, int rank) {
  return folder / (".rank-" + std::to_string(rank) + "." + hash_text(job));
}

}  // namespace

std::uint64_t draw_job(Process& me) {
  std::random_device random;
  const std::uint64_t mine = std::uint64_t{random()} << 32U | random();
  return gather_values(me.control(), mine).front().what;
}

Checkpointer::Checkpointer(Process& me, Given given)
    : me_(me), given_(std::move(given)), store_(given_.folder) {
  std::exception_ptr refused;
  const fs::path mine = probe_of(store_.folder(), given_.job, me.rank());
  try {
    store_.make();
    std::ofstream probe(mine);
    if (!probe)
      throw InvalidConfig("cannot write to " + store_.folder().string() +
                          "; give --checkpoint a folder you may write to");
  } catch (const InvalidConfig&) {
    refused = std::current_exception();
  }
  const auto all = gather_values(me.control(), refused ? Said::kFailed : Said::kDone);
  // The lowest rank on a disk names what all there have written: it sees no other's probe before its own.
  names_ = !me.outside() && std::none_of(all.begin(), all.end(), [&](const auto& other) {
    return other.rank < me.rank() && fs::exists(probe_of(store_.folder(), given_.job, other.rank));
  });
  me.control().barrier();
  std::error_code ignored;
  fs::remove(mine, ignored);
  if (refused) std::rethrow_exception(refused);
  for (const auto& [rank, said] : all)
    if (said == Said::kFailed)
      throw InvalidConfig("rank " + std::to_string(rank) + " cannot write checkpoints to " +
                          store_.folder().string() +
                          "; give --checkpoint a folder that every rank may write to");
  if (!names_) return;
  store_.drop_drafts();
  if (const auto steps = store_.steps(); !steps.empty()) newest_ = steps.front();
}

Checkpointer::~Checkpointer() = default;

void Checkpointer::write(std::int64_t step, StateWriter state, std::unique_ptr<const ModelCopy> model) {
  finish();
  auto draft = std::make_unique<Draft>();
  draft->step = step;
  draft->state = std::move(state);
  draft->model = std::move(model);
  task_ = me_.tasks().spawn("tacit-checkpoint", [this, at = draft.get()] { write_draft(*at); });
  draft_ = std::move(draft);  // only now: without the task nobody would write it
  phase_ = Phase::kWriting;
  said_ = Said::kNotYet;
  looks_ = 0;
  next_ask_ = 1;
}

// The task's.
void Checkpointer::write_draft(Draft& draft) const {
  try {
    const fs::path folder = store_.draft(given_.job, draft.step);
    const StateHeader header{.job = given_.job, .step = draft.step, .rank = me_.rank(), .ranks = me_.size()};
    write_state(folder / state_file_name(me_.rank()), header, draft.state.pieces());
    if (draft.model) draft.model_crc = draft.model->write(folder / kModelFile);
  } catch (const std::exception& error) {
    draft.error = error.what();
  }
  draft.state = {};
  draft.done.store(true, std::memory_order_release);
}

void Checkpointer::look() {
  if (!draft_ || ++looks_ < next_ask_) return;
  next_ask_ = 2 * looks_;
  ask();
}

void Checkpointer::finish() {
  if (draft_ && phase_ == Phase::kWriting) task_->join();
  while (draft_) ask();
}

void Checkpointer::ask() {
  if (phase_ == Phase::kWriting && draft_->done.load(std::memory_order_acquire))
    said_ = draft_->error.empty() ? Said::kDone : Said::kFailed;
  struct Word {
    Said said;
    std::uint32_t model_crc;  // 0: wrote none
    std::int32_t names;
  };
  const bool done = said_ != Said::kNotYet;
  const auto all = gather_values(me_.control(),
                                 Word{said_, done && draft_->model ? draft_->model_crc : 0, names_ ? 1 : 0});
  const auto is = [](Said what) { return [what](const auto& each) { return each.what.said == what; }; };
  if (std::any_of(all.begin(), all.end(), is(Said::kNotYet))) return;
  if (const auto failed = std::find_if(all.begin(), all.end(), is(Said::kFailed)); failed != all.end())
    return give_up(failed->rank);
  if (phase_ == Phase::kWriting) {
    for (const auto& each : all) draft_->model_crc = std::max(draft_->model_crc, each.what.model_crc);
    // Whoever did may be lost, or back without it.
    if (std::none_of(all.begin(), all.end(), [](const auto& each) { return each.what.names != 0; }))
      names_ = all.front().rank == me_.rank();
    said_ = name_draft();
    phase_ = Phase::kNaming;
    next_ask_ =
        looks_ + 1;  // it has its name by then: nobody shall wait for it to be over, least of all who returns
    return;
  }
  newest_ = draft_->step;
  draft_.reset();
  if (names_) store_.keep(given_.keep);
}

Checkpointer::Said Checkpointer::name_draft() {
  task_->join();
  task_.reset();
  if (!names_) return Said::kDone;
  try {
    store_.commit(manifest());
    return Said::kDone;
  } catch (const Error& error) {
    draft_->error = error.what();
    return Said::kFailed;
  }
}

Manifest Checkpointer::manifest() const {
  Manifest m{"", given_.job, draft_->step, me_.size(), given_.settings, {}};
  const fs::path model = store_.draft(given_.job, draft_->step) / kModelFile;
  std::error_code error;
  if (const auto bytes = fs::file_size(model, error); !error)
    m.files.push_back({kModelFile, bytes, draft_->model_crc});
  return m;
}

void Checkpointer::give_up(int rank) {
  if (task_) task_->join();
  task_.reset();
  if (names_) store_.drop(given_.job, draft_->step);
  if (rank == me_.rank())
    given_.warn("no checkpoint after step " + std::to_string(draft_->step) + ": " + draft_->error +
                "; the run goes on, " +
                (newest_ ? "and the newest checkpoint is that after step " + std::to_string(*newest_)
                         : "without any checkpoint so far"));
  draft_.reset();
}

}  // namespace tacit
