// SPDX-License-Identifier: MIT
#include "means/compressed_mean.h"

#include <string>
#include <utility>
#include <vector>

#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/topology/chunks.h"

namespace tacit {
namespace {

// x is added to the residual, and what was sent is taken out of it.
constexpr double kCopiesOfMemory = 2;

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
      split_(x.tensors, x.rows, how_.min_values),
      momentum_(how_.memory == Memory::kMomentum ? Momentum::Form::kHeavyBall : Momentum::Form::kNesterov,
                how_.momentum.value_or(0),
                x.like.first(split_.small_values() + (moves_large() ? split_.large_values() : 0))),
      memory_(silent_ ? Memory::kErrorFeedback : how_.memory, how_.momentum.value_or(0),
              x.like.first(split_.large_values() + (silent_ ? split_.small_values() : 0))),
      small_(x.like.first(silent_ ? 0 : split_.small_values())),
      result_(x.like.first(memory_.pending().size())),
      route_(make_route(codec, x, comm)) {}

std::unique_ptr<MeanRoute> CompressedMean::make_route(const MeanCodec& codec, const TensorVector& x,
                                                      const Collectives& comm) const {
  if (how_.maker.sketch) {
    std::vector<std::size_t> rows;
    for (const auto& tensor : split_.large())
      if (!how_.whole_model) rows.push_back(tensor.rows);
    return make_sketch_route(how_, split_.pieces(how_.whole_model), rows);
  }
  const bool auto_scatters =
      how_.route == Route::kAuto && fewer_bytes_by_scatter(how_, split_.large_values(), comm.size());
  if (!silent_ && how_.route != Route::kScatter && !auto_scatters)
    return make_gather_route(how_, split_.pieces(how_.whole_model));
  const Compression& down = codec.down ? *codec.down : how_;
  const bool answers = how_.maker.answer && !silent_;
  const std::size_t plain = silent_ ? split_.small_values() : 0;
  // A rank's momentum is in what it sent; the owner only keeps what it left out.
  const Memory owners = silent_ || how_.memory != Memory::kNone ? Memory::kErrorFeedback : Memory::kNone;
  return make_scatter_route(
      {Direction(how_.maker.compressor, shards_of(split_, how_.whole_model, plain, comm.size())),
       Direction(answers ? how_.maker.answer : down.maker.compressor,
                 shards_of(split_, down.whole_model, plain, comm.size())),
       how_.maker.effort, owners, x.like.first(split_.large_values() + plain)},
      comm);
}

void CompressedMean::mean(Collectives& comm, FloatView x, const Step& step) {
  take(comm.rank(), x, step);
  const bool speak = speaks(step.workers, comm.rank(), memory_.pending(), x);
  const FloatView result = result_.view();
  spend_copies(comm, kCopiesOfMemory + (speak ? how_.maker.effort.encode : 0), result.size());
  if (!small_.view().empty()) comm.mean(small_.view());
  if (!result.empty()) {
    kernels::fill(0, result);
    route_->mean(comm, step, speak, memory_, result);
  }
  momentum_.commit();
  memory_.commit();
  route_->commit();
  for (const auto& tensor : split_.small())
    copy(silent_ ? part(result, behind_large(tensor.to)) : part(small_.view(), tensor.to),
         part(x, tensor.from));
  for (const auto& tensor : split_.large()) copy(part(result, tensor.to), part(x, tensor.from));
}

void CompressedMean::save(StateWriter& state) const {
  momentum_.save(state);
  memory_.save(state);
  route_->save(state);
}

void CompressedMean::load(StateReader& state) {
  momentum_.load(state);
  memory_.load(state);
  route_->load(state);
}

// Reads x and refuses what is not finite, before anything is sent or changed.
void CompressedMean::take(int rank, ConstFloatView x, const Step& step) {
  const auto require = [&](bool finite, const TensorSplit::Tensor& tensor) {
    if (finite) return;
    throw Diverged(rank, step.t,
                   "tensor " + std::to_string(tensor.index) + " (values " +
                       std::to_string(tensor.from.offset) + " to " +
                       std::to_string(tensor.from.offset + tensor.from.count) +
                       ") has a value that is not finite, which " + how_.name +
                       " cannot compress; lower the learning rate, warm it up, or look at the data");
  };
  for (const auto& tensor : split_.small()) {
    const ConstFloatView given = part(x, tensor.from);
    require(silent_ ? memory_.take(given, behind_large(tensor.to), step.rescale)
                    : momentum_.take(given, tensor.to, part(small_.view(), tensor.to)),
            tensor);
  }
  for (const auto& tensor : split_.large())
    require(take_large(part(x, tensor.from), tensor.to, step.rescale), tensor);
}

// The momentum of large tensors lies behind that of small ones, unless the memory has it.
bool CompressedMean::moves_large() const {
  return how_.momentum.value_or(0) > 0 && how_.memory != Memory::kMomentum;
}
bool CompressedMean::take_large(ConstFloatView x, Slice at, float rescale) {
  if (!moves_large()) return memory_.take(x, at, rescale);
  const FloatView moved = part(result_.view(), at);  // not in use yet
  return momentum_.take(x, {split_.small_values() + at.offset, at.count}, moved) &&
         memory_.take(moved, at, rescale);
}

}  // namespace tacit
