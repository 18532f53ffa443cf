// SPDX-License-Identifier: MIT
#include "tacit/collectives/compressed_mean.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "collectives/compressed_parts.h"
#include "tacit/compress/feedback.h"
#include "tacit/compress/momentum.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/topology/chunks.h"

namespace tacit {
namespace {

void clear(FloatView x) { kernels::fill(0, x); }

// What one call of a compressor sees: a tensor, or all of them.
std::vector<Slice> pieces_of(const TensorSplit& split, bool whole_model) {
  if (whole_model) return {{0, split.large_values()}};
  std::vector<Slice> pieces;
  for (const auto& tensor : split.large()) pieces.push_back(tensor.to);
  return pieces;
}

// x is added to the residual, and what was sent is taken out of it.
constexpr double kCopiesOfMemory = 2;

}  // namespace

class CompressedMean::Impl {
 public:
  Impl(const Compression& how, std::span<const Slice> tensors, std::span<const std::size_t> rows)
      : how_(how),
        split_(tensors, rows, how.min_values),
        pieces_(pieces_of(split_, how.whole_model)),
        momentum_(how.memory == Memory::kMomentum ? Momentum::Form::kHeavyBall : Momentum::Form::kNesterov,
                  how.momentum.value_or(0),
                  split_.small_values() + (moves_large() ? split_.large_values() : 0)),
        memory_(how.memory, how.momentum.value_or(0), split_.large_values()),
        small_(split_.small_values()),
        result_(split_.large_values()) {
    if (how.maker.compressor) compressor_ = how.maker.compressor();
    if (how.maker.compressor) answers_ = how.maker.answer ? how.maker.answer() : how.maker.compressor();
    for (std::size_t i = 0; how.maker.sketch && i < pieces_.size(); ++i) {
      const std::size_t row_count = how.whole_model ? 0 : split_.large()[i].rows;
      sketches_.push_back(how.maker.sketch({pieces_[i].count, row_count}));
    }
  }

  void mean(Comm& comm, FloatView x, const Step& step) {
    take(comm, x, step);
    spend(comm, kCopiesOfMemory + how_.maker.effort.encode);
    if (!small_.empty()) comm.mean(small_);
    if (!result_.empty()) {
      clear(result_);
      if (how_.maker.sketch)
        by_sums(comm, step);
      else
        scatters(comm) ? by_scatter(comm, step) : by_gather(comm, step);
    }
    momentum_.commit();
    memory_.commit();
    for (const auto& tensor : split_.small())
      copy(part(ConstFloatView(small_), tensor.to), part(x, tensor.from));
    for (const auto& tensor : split_.large())
      copy(part(ConstFloatView(result_), tensor.to), part(x, tensor.from));
  }

  ConstFloatView residual() const { return memory_.residual(); }

  void save(StateWriter& state) const {
    momentum_.save(state);
    memory_.save(state);
    state.write("compress.seed", shared_seed_);
    state.write("compress.shard", std::uint64_t{owned_.offset});
    state.write("compress.shard_values", std::uint64_t{owned_.count});
    if (owned_.count > 0) owner_->save(state);
    for (const auto& sketch : sketches_) sketch->save(state);
  }
  void load(StateReader& state) {
    momentum_.load(state);
    memory_.load(state);
    shared_seed_ = state.number("compress.seed");
    const std::size_t offset = state.number("compress.shard");
    const std::size_t count = state.number("compress.shard_values");
    if (count > split_.large_values() || offset > split_.large_values() - count)
      throw InvalidConfig("saved state: its shard lies outside this model; resume with the same model");
    if (count > 0) {
      own({offset, count});
      owner_->load(state);
    }
    for (const auto& sketch : sketches_) sketch->load(state);
  }

 private:
  // In virtual time: so many copies of what is compressed.
  void spend(Comm& comm, double copies) const {
    comm.clock().work(copies * static_cast<double>(split_.large_values() * sizeof(float)));
  }

  // Reads x and refuses what is not finite, before anything is sent or changed.
  void take(Comm& comm, ConstFloatView x, const Step& step) {
    const auto require = [&](bool finite, const TensorSplit::Tensor& tensor) {
      if (finite) return;
      throw Diverged(comm.rank(), step.t,
                     "tensor " + std::to_string(tensor.index) + " (values " +
                         std::to_string(tensor.from.offset) + " to " +
                         std::to_string(tensor.from.offset + tensor.from.count) +
                         ") has a value that is not finite, which " + how_.name +
                         " cannot compress; lower the learning rate, warm it up, or look at the data");
    };
    for (const auto& tensor : split_.small())
      require(momentum_.take(part(x, tensor.from), tensor.to, part(FloatView(small_), tensor.to)), tensor);
    for (const auto& tensor : split_.large())
      require(take_large(part(x, tensor.from), tensor.to, step.rescale), tensor);
  }
  // The momentum of large tensors lies behind that of small ones, unless the memory has it.
  bool moves_large() const { return how_.momentum.value_or(0) > 0 && how_.memory != Memory::kMomentum; }
  bool take_large(ConstFloatView x, Slice at, float rescale) {
    if (!moves_large()) return memory_.take(x, at, rescale);
    const FloatView moved = part(FloatView(result_), at);  // not in use yet
    return momentum_.take(x, {split_.small_values() + at.offset, at.count}, moved) &&
           memory_.take(moved, at, rescale);
  }

  bool scatters(const Comm& comm) const {
    if (how_.route != Route::kAuto) return how_.route == Route::kScatter;
    const auto ranks = static_cast<std::size_t>(comm.size());
    const std::size_t shard = (split_.large_values() + ranks - 1) / ranks;
    const std::size_t there_and_back = compressor_->max_bytes(shard) + answers_->max_bytes(shard);
    return compressor_->max_bytes(split_.large_values()) > there_and_back;  // each to ranks - 1 others
  }

  // Adds the payloads of a message to y, which begins at `origin` of the vector.
  static void add_message(const Compressor& by, int from, ConstBytes message, std::span<const Slice> parts,
                          float factor, FloatView y, std::size_t origin = 0) {
    MessageReader reader(message, from);
    for (const Slice& p : parts) by.decode_add(reader.next(), factor, part(y, {p.offset - origin, p.count}));
    reader.finish();
  }
  // The memory keeps what the payloads of a message left out.
  static void keep_rest(Feedback& memory, const Compressor& by, int rank, ConstBytes message,
                        std::span<const Slice> parts) {
    MessageReader reader(message, rank);
    for (const Slice& p : parts) memory.sent(p, by, reader.next());
  }

  void by_gather(Comm& comm, const Step& step) {
    messages_.resize(1);
    messages_[0].write(*compressor_, memory_.pending(), pieces_, step.rng);
    keep_rest(memory_, *compressor_, comm.rank(), messages_[0].bytes(), pieces_);
    out_.assign(static_cast<std::size_t>(comm.size()), messages_[0].bytes());
    const float share = 1.0F / static_cast<float>(comm.size());
    comm.all_to_all(out_, [&](int from, ConstBytes message) {
      add_message(*compressor_, from, message, pieces_, share, result_);
    });
    spend(comm, comm.size() * how_.maker.effort.decode);
  }

  void by_scatter(Comm& comm, const Step& step) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const auto me = static_cast<std::size_t>(comm.rank());
    if (shards_.size() != ranks) cut_shards(comm);
    Rng rng = step.rng;
    for (std::size_t r = 0; r < ranks; ++r) {
      messages_[r].write(*compressor_, memory_.pending(), shards_[r],
                         Rng(rng.next(), 0, 0, Rng::Use::kRounding));
      out_[r] = messages_[r].bytes();
      keep_rest(memory_, *compressor_, comm.rank(), out_[r], shards_[r]);
    }
    clear(average_);
    const float share = 1.0F / static_cast<float>(ranks);
    comm.all_to_all(out_, [&](int from, ConstBytes message) {
      add_message(*compressor_, from, message, shards_[me], share, average_, owned_.offset);
    });

    if (!owner_->take(average_, {0, owned_.count}, step.rescale))
      throw Diverged(comm.rank(), step.t,
                     "the average of compressed gradients is not finite; lower the learning rate");
    messages_[ranks].write(*answers_, owner_->pending(), own_parts_,
                           Rng(rng.next(), 0, 0, Rng::Use::kRounding));
    const ConstBytes answer = messages_[ranks].bytes();
    keep_rest(*owner_, *answers_, comm.rank(), answer, own_parts_);
    std::fill(out_.begin(), out_.end(), answer);
    comm.all_to_all(out_, [&](int from, ConstBytes message) {
      add_message(*answers_, from, message, shards_[static_cast<std::size_t>(from)], 1, result_);
    });
    spend(comm, 2 * how_.maker.effort.decode);  // what came for the own shard, and the answers for all
    owner_->commit();
  }

  void cut_shards(const Comm& comm) {
    shards_.clear();
    for (int r = 0; r < comm.size(); ++r)
      shards_.push_back(cut(pieces_, chunk(result_.size(), comm.size(), r)));
    own(chunk(result_.size(), comm.size(), comm.rank()));
    own_parts_ = shards_[static_cast<std::size_t>(comm.rank())];
    for (Slice& p : own_parts_) p.offset -= owned_.offset;
    messages_.resize(shards_.size() + 1);
    out_.resize(shards_.size());
  }

  // This rank averages that part of the vector.
  void own(Slice shard) {
    if (owner_ && owned_ == shard) return;
    owned_ = shard;
    average_.resize(shard.count);
    // A rank's momentum is in what it sent; the owner only keeps what it left out.
    owner_ = std::make_unique<Feedback>(how_.memory == Memory::kNone ? Memory::kNone : Memory::kErrorFeedback,
                                        0.0F, shard.count);
  }

  void by_sums(Comm& comm, const Step& step) {
    if (shared_seed_ == 0) {
      Rng rng = step.rng;
      shared_seed_ = rng.next() | 1U;
      comm.broadcast(std::as_writable_bytes(std::span(&shared_seed_, 1)), 0);
    }
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      sketches_[i]->begin(Rng(shared_seed_, static_cast<int>(i), step.t, Rng::Use::kRounding));
    for (int round = 0; round < sketches_[0]->rounds(); ++round) {
      std::size_t floats = 0;
      for (const auto& sketch : sketches_) floats += sketch->floats(round);
      if (sums_.size() < floats) sums_.resize(floats);
      const FloatView sums = FloatView(sums_).first(floats);
      each_sketch(round, sums,
                  [&](LinearSketch& s, ConstFloatView x, FloatView own) { s.sketch(round, x, own); });
      comm.mean(sums);
      each_sketch(round, sums, [&](LinearSketch& s, ConstFloatView, FloatView own) { s.learn(round, own); });
    }
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      sketches_[i]->decode_add(1, part(FloatView(result_), pieces_[i]));
      memory_.sent(pieces_[i], *sketches_[i]);
    }
    spend(comm, 2 * how_.maker.effort.decode);  // for the result and for the memory
  }
  template <class F>
  void each_sketch(int round, FloatView sums, const F& f) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::size_t count = sketches_[i]->floats(round);
      f(*sketches_[i], part(memory_.pending(), pieces_[i]), sums.subspan(at, count));
      at += count;
    }
  }

  const Compression how_;
  const TensorSplit split_;
  const std::vector<Slice> pieces_;  // of the large tensors, one after the other
  Momentum momentum_;
  Feedback memory_;
  std::unique_ptr<Compressor> compressor_;               // either these two,
  std::unique_ptr<Compressor> answers_;                  // the second for what owners send,
  std::vector<std::unique_ptr<LinearSketch>> sketches_;  // or one per piece
  std::vector<float> small_;
  std::vector<float> result_;
  std::vector<MessageWriter> messages_;
  std::vector<ConstBytes> out_;  // what goes to each rank
  // scatter
  std::vector<std::vector<Slice>> shards_;  // by owner: the parts of the pieces in its shard
  std::vector<Slice> own_parts_;            // those in this rank's, from its beginning
  Slice owned_;
  std::unique_ptr<Feedback> owner_;
  std::vector<float> average_;
  // sums
  std::uint64_t shared_seed_ = 0;  // rank 0's; 0: not known yet
  std::vector<float> sums_;
};

CompressedMean::CompressedMean(const Compression& how, std::span<const Slice> tensors,
                               std::span<const std::size_t> rows)
    : impl_(std::make_unique<Impl>(how, tensors, rows)) {}
CompressedMean::~CompressedMean() = default;
void CompressedMean::mean(Comm& comm, FloatView x, const Step& step) { impl_->mean(comm, x, step); }
ConstFloatView CompressedMean::residual() const { return impl_->residual(); }
void CompressedMean::save(StateWriter& state) const { impl_->save(state); }
void CompressedMean::load(StateReader& state) { impl_->load(state); }

}  // namespace tacit
