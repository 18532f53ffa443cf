// SPDX-License-Identifier: MIT
#include "tacit/collectives/two_way_mean.h"

#include <algorithm>
#include <string>

#include "collectives/compressed_parts.h"
#include "tacit/compress/feedback.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "tacit/topology/chunks.h"

namespace tacit {
namespace {

void clear(FloatView x) { kernels::fill(0, x); }

// One direction: what is compressed how. Offsets are those of the vector that has large tensors first.
class Direction {
 public:
  Direction(const Compression& how, const TensorSplit& split, int ranks)
      : compressor_(how.maker.compressor()), plain_(Compression::parse("identity").maker.compressor()) {
    const std::size_t large = split.large_values();
    const std::size_t all = large + split.small_values();
    std::vector<Slice> pieces;
    for (const auto& tensor : split.large()) pieces.push_back(tensor.to);
    if (how.whole_model) pieces = {{0, large}};
    const std::vector<Slice> rest{{large, all - large}};
    for (int r = 0; r < ranks; ++r) {
      const Slice shard = chunk(all, ranks, r);
      shards_.push_back({cut(pieces, shard), cut(rest, shard)});
    }
  }

  // x begins at `origin` of the vector.
  void write(MessageWriter& message, std::size_t shard, ConstFloatView x, std::size_t origin, Rng rng) {
    message.clear();
    message.add(*compressor_, x, moved(shards_[shard].compressed, origin), rng);
    message.add(*plain_, x, moved(shards_[shard].plain, origin), rng);
  }
  void add(ConstBytes message, int from, std::size_t shard, float factor, FloatView y,
           std::size_t origin) const {
    each(message, from, shard, origin, [&](const Compressor& by, ConstBytes payload, Slice at) {
      by.decode_add(payload, factor, part(y, at));
    });
  }
  // The memory keeps what the message left out.
  void keep_rest(Feedback& memory, ConstBytes message, int rank, std::size_t shard,
                 std::size_t origin) const {
    each(message, rank, shard, origin,
         [&](const Compressor& by, ConstBytes payload, Slice at) { memory.sent(at, by, payload); });
  }

 private:
  struct Parts {
    std::vector<Slice> compressed;
    std::vector<Slice> plain;
  };

  static std::vector<Slice> moved(std::vector<Slice> parts, std::size_t origin) {
    for (Slice& p : parts) p.offset -= origin;
    return parts;
  }
  template <class F>
  void each(ConstBytes message, int from, std::size_t shard, std::size_t origin, const F& f) const {
    MessageReader reader(message, from);
    for (const Slice& p : shards_[shard].compressed)
      f(*compressor_, reader.next(), {p.offset - origin, p.count});
    for (const Slice& p : shards_[shard].plain) f(*plain_, reader.next(), {p.offset - origin, p.count});
    reader.finish();
  }

  std::unique_ptr<Compressor> compressor_;
  std::unique_ptr<Compressor> plain_;
  std::vector<Parts> shards_;  // by owner
};

bool speaks(const Speakers& who, std::size_t me, ConstFloatView all, ConstFloatView fresh) {
  if (!who.turns[me]) return false;
  return !who.chooses || who.chooses(kernels::norm2(all), kernels::norm2(fresh));
}

bool anyone(const Speakers& who) {
  return std::find(who.turns.begin(), who.turns.end(), true) != who.turns.end();
}

}  // namespace

class TwoWayMean::Impl {
 public:
  Impl(const Compression& up, const Compression& down, std::span<const Slice> tensors, int ranks)
      : name_(up.name),
        effort_(up.maker.effort),
        split_(tensors, {}, up.min_values),
        up_(up, split_, ranks),
        down_(down, split_, ranks),
        ranks_(static_cast<std::size_t>(ranks)),
        memory_(Memory::kErrorFeedback, 0, values()),
        result_(values()),
        messages_(ranks_ + 1) {}

  void mean(Comm& comm, FloatView x, const Step& step) {
    if (!server_) own(chunk(values(), comm.size(), comm.rank()));
    const auto me = static_cast<std::size_t>(comm.rank());
    take(comm, x, step.t);
    Rng rng = step.rng;
    const bool speak = speaks(step.workers, me, memory_.pending(), x);
    // In virtual time: the memory, and what every worker that speaks has to encode; then as many shards as there are
    // workers.
    spend(comm, 2 + (speak ? effort_.encode : 0));
    say_up(comm, speak, step, rng.next());
    if (anyone(step.workers)) spend(comm, effort_.decode);
    if (!server_->take(average_, {0, owned_.count}, 1))
      throw Diverged(comm.rank(), step.t,
                     "the average of compressed updates is not finite; lower the learning rate");
    say_down(comm, speaks(step.servers, me, server_->pending(), average_), step, rng.next());
    if (anyone(step.servers)) spend(comm, effort_.decode);
    memory_.commit();
    server_->commit();
    each_tensor([&](Slice from, Slice to) { copy(part(ConstFloatView(result_), to), part(x, from)); });
  }

  void save(StateWriter& state) const {
    memory_.save(state);
    state.write("two_way.shard", std::uint64_t{owned_.offset});
    state.write("two_way.shard_values", std::uint64_t{owned_.count});
    if (owned_.count > 0) server_->save(state);
  }
  void load(StateReader& state) {
    memory_.load(state);
    const std::size_t offset = state.number("two_way.shard");
    const std::size_t count = state.number("two_way.shard_values");
    if (count > values() || offset > values() - count)
      throw InvalidConfig("saved state: its shard lies outside this model; resume with the same model");
    if (count == 0) return;
    own({offset, count});
    server_->load(state);
  }

 private:
  std::size_t values() const { return split_.large_values() + split_.small_values(); }

  void spend(Comm& comm, double copies) const {
    comm.clock().work(copies * static_cast<double>(values() * sizeof(float)));
  }

  // f(where in the model, where in the vector)
  template <class F>
  void each_tensor(const F& f) const {
    for (const auto& tensor : split_.large()) f(tensor.from, tensor.to);
    for (const auto& tensor : split_.small())
      f(tensor.from, Slice{split_.large_values() + tensor.to.offset, tensor.to.count});
  }

  // Reads x and refuses what is not finite, before anything is sent or changed.
  void take(const Comm& comm, ConstFloatView x, std::int64_t t) {
    each_tensor([&](Slice from, Slice to) {
      if (memory_.take(part(x, from), to, 1)) return;
      throw Diverged(comm.rank(), t,
                     "the update of values " + std::to_string(from.offset) + " to " +
                         std::to_string(from.offset + from.count) + " is not finite, which " + name_ +
                         " cannot compress; lower the learning rate, warm it up, or look at the data");
    });
  }

  void say_up(Comm& comm, bool speak, const Step& step, std::uint64_t seed) {
    clear(average_);
    if (!anyone(step.workers)) return;
    const auto me = static_cast<std::size_t>(comm.rank());
    std::vector<ConstBytes> out(ranks_);
    for (std::size_t r = 0; speak && r < ranks_; ++r) {
      up_.write(messages_[r], r, memory_.pending(), 0,
                Rng(seed, static_cast<int>(r), 0, Rng::Use::kRounding));
      out[r] = messages_[r].bytes();
      up_.keep_rest(memory_, out[r], comm.rank(), r, 0);
    }
    const float share = 1.0F / static_cast<float>(ranks_);
    comm.some_to_all(step.workers.turns, out, [&](int from, ConstBytes message) {
      if (!message.empty()) up_.add(message, from, me, share, average_, owned_.offset);
    });
  }

  void say_down(Comm& comm, bool speak, const Step& step, std::uint64_t seed) {
    clear(result_);
    if (!anyone(step.servers)) return;
    const auto me = static_cast<std::size_t>(comm.rank());
    std::vector<ConstBytes> out(ranks_);
    if (speak) {
      MessageWriter& message = messages_[ranks_];
      down_.write(message, me, server_->pending(), owned_.offset, Rng(seed, 0, 0, Rng::Use::kRounding));
      down_.keep_rest(*server_, message.bytes(), comm.rank(), me, owned_.offset);
      std::fill(out.begin(), out.end(), message.bytes());
    }
    comm.some_to_all(step.servers.turns, out, [&](int from, ConstBytes message) {
      if (!message.empty()) down_.add(message, from, static_cast<std::size_t>(from), 1, result_, 0);
    });
  }

  // This rank is the server of that part of the vector.
  void own(Slice shard) {
    owned_ = shard;
    average_.resize(shard.count);
    server_ = std::make_unique<Feedback>(Memory::kErrorFeedback, 0.0F, shard.count);
  }

  const std::string name_;
  const Effort effort_;
  const TensorSplit split_;
  Direction up_;
  Direction down_;
  const std::size_t ranks_;
  Feedback memory_;                   // e_i
  std::unique_ptr<Feedback> server_;  // e_s
  Slice owned_;
  std::vector<float> average_;           // what came to this server
  std::vector<float> result_;            // what the servers said
  std::vector<MessageWriter> messages_;  // to every server, and this server's to all
};

TwoWayMean::TwoWayMean(const Compression& up, const Compression& down, std::span<const Slice> tensors,
                       int ranks)
    : impl_(std::make_unique<Impl>(up, down, tensors, ranks)) {}
TwoWayMean::~TwoWayMean() = default;
void TwoWayMean::mean(Comm& comm, FloatView x, const Step& step) { impl_->mean(comm, x, step); }
void TwoWayMean::save(StateWriter& state) const { impl_->save(state); }
void TwoWayMean::load(StateReader& state) { impl_->load(state); }

}  // namespace tacit
