// SPDX-License-Identifier: MIT
#include "means/compressed_mean.h"

#include <vector>

#include "tacit/core/kernels.h"
#include "topology/chunks.h"

namespace tacit {
namespace {

// What each of so many owners hears of: its chunk of the large tensors, which are compressed, and of `plain` values
// behind them, which are not.
std::vector<MessageParts> shards_of(const TensorSplit& split, bool whole_model, std::size_t plain,
                                    int ranks) {
  const std::vector<Slice> pieces = split.pieces(whole_model);
  const std::vector<Slice> rest{{split.large_values(), plain}};
  std::vector<MessageParts> shards;
  for (int r = 0; r < ranks; ++r) {
    const Slice shard = chunk(split.large_values() + plain, ranks, r);
    shards.push_back({cut(pieces, shard), cut(rest, shard)});
  }
  return shards;
}

bool fewer_bytes_by_scatter(const Compression& how, std::size_t values, int ranks) {
  const auto owners = static_cast<std::size_t>(ranks);
  const std::size_t shard = (values + owners - 1) / owners;
  const auto there = how.maker.compressor();
  const auto back = how.maker.answer ? how.maker.answer() : how.maker.compressor();
  return there->max_bytes(values) >
         there->max_bytes(shard) + back->max_bytes(shard);  // each to ranks - 1 others
}

}  // namespace

CompressedMean::CompressedMean(const MeanCodec& codec, const TensorVector& x, const Collectives& comm)
    : how_(codec.up),
      silent_(codec.silent),
      own_(how_, TensorSplit(x.tensors, x.rows, how_.min_values), x.like,
           silent_ ? Contribution::Remembers::kAll : Contribution::Remembers::kLarge),
      result_(x.like.first(own_.memory().pending().size())),
      route_(make_route(codec, x, comm)) {}

std::unique_ptr<MeanRoute> CompressedMean::make_route(const MeanCodec& codec, const TensorVector& x,
                                                      const Collectives& comm) const {
  const TensorSplit& split = own_.split();
  if (how_.maker.sketch) {
    std::vector<std::size_t> rows;
    for (const auto& tensor : split.large())
      if (!how_.whole_model) rows.push_back(tensor.rows);
    return make_sketch_route(how_, split.pieces(how_.whole_model), rows);
  }
  const bool auto_scatters =
      how_.route == Route::kAuto && fewer_bytes_by_scatter(how_, split.large_values(), comm.size());
  if (!silent_ && how_.route != Route::kScatter && !auto_scatters)
    return make_gather_route(how_, split.pieces(how_.whole_model));
  const Compression& down = codec.down ? *codec.down : how_;
  const bool answers = how_.maker.answer && !silent_;
  const std::size_t plain = silent_ ? split.small_values() : 0;
  // A rank's momentum is in what it sent; the owner only keeps what it left out.
  const Memory owners = silent_ || how_.memory != Memory::kNone ? Memory::kErrorFeedback : Memory::kNone;
  return make_scatter_route(
      {Direction(how_.maker.compressor, shards_of(split, how_.whole_model, plain, comm.size())),
       Direction(answers ? how_.maker.answer : down.maker.compressor,
                 shards_of(split, down.whole_model, plain, comm.size())),
       how_.maker.effort, owners, x.like.first(split.large_values() + plain)},
      comm);
}

void CompressedMean::mean(Collectives& comm, FloatView x, const Step& step) {
  own_.take(x, {comm.rank(), step.t, step.rescale});
  const bool speak = speaks(step.workers, comm.rank(), own_.memory().pending(), x);
  const FloatView result = result_.view();
  spend_copies(comm, kCopiesOfMemory + (speak ? how_.maker.effort.encode : 0), result.size());
  if (!own_.small().empty()) comm.mean(own_.small());
  if (!result.empty()) {
    kernels::fill(0, result);
    route_->mean(comm, step, speak, own_.memory(), result);
  }
  own_.commit();
  route_->commit();
  for (const auto& tensor : own_.split().small())
    copy(silent_ ? part(result, own_.behind_large(tensor.to)) : part(own_.small(), tensor.to),
         part(x, tensor.from));
  for (const auto& tensor : own_.split().large()) copy(part(result, tensor.to), part(x, tensor.from));
}

void CompressedMean::add_unsent(float factor, FloatView x) const {
  const ConstFloatView unsent = residual();
  if (unsent.empty()) return;
  for (const auto& tensor : own_.split().large())
    kernels::axpy(factor, part(unsent, tensor.to), part(x, tensor.from));
  if (!silent_) return;
  for (const auto& tensor : own_.split().small())
    kernels::axpy(factor, part(unsent, own_.behind_large(tensor.to)), part(x, tensor.from));
}

void CompressedMean::save(StateWriter& state) const {
  own_.save(state);
  route_->save(state);
}

void CompressedMean::load(StateReader& state) {
  own_.load(state);
  route_->load(state);
}

}  // namespace tacit
