// SPDX-License-Identifier: MIT
// CD-SGD's rule on pushes: worker i sends C(p) of p = g + (eta_{t-1}/eta_t) e_i and keeps e_i <- p - C(p); a shard adds up
// what the messages say. A gradient that leaves in buckets is pushed in as many parts, unless the compressor chooses among
// all of its values.
#include "means/push_codec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "means/contribution.h"
#include "means/last_rate.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"

namespace tacit {
namespace {

class PlainPushes final : public PushCodec {
 public:
  PlainPushes(FloatView like, Slice bucket, int servers) : bucket_(bucket), sent_(part(like, bucket)) {
    for (const Slice& shard : Shards::parts(bucket.count, servers))
      messages_.push_back(bytes_of(part(sent_.view(), shard)));
  }
  Slice bucket() const override { return bucket_; }
  std::span<const ConstBytes> encode(Worker&, ConstFloatView x) override {
    sent_.take(part(x, bucket_));
    return messages_;
  }
  std::unique_ptr<ShardRule> decoding(Slice, std::unique_ptr<ShardRule> rule) const override { return rule; }
  void save(Worker&, StateWriter&) override {}
  void load(Worker&, StateReader&) override {}

 private:
  const Slice bucket_;
  Buffer sent_;
  std::vector<ConstBytes> messages_;
};

// What one shard's message says, in its order: large tensors, or what of them lies in the shard, and the small ones.
struct ShardContent {
  Slice shard;                      // in the model
  std::vector<Slice> pieces;        // what the compressor sees, among all large values
  Slice small;                      // among all small values
  std::vector<Slice> large_places;  // in the shard, one after the other as in the pieces
  std::vector<Slice> small_places;
};

// From the first of the values in a shard to the last; they follow each other.
Slice range_of(std::span<const TensorSplit::Tensor> all, Slice shard, std::vector<Slice>& places) {
  Slice range{0, 0};
  for (const auto& tensor : all) {
    if (tensor.from.offset < shard.offset || tensor.from.offset >= shard.offset + shard.count) continue;
    if (range.count == 0) range.offset = tensor.to.offset;
    range.count += tensor.to.count;
    places.push_back({tensor.from.offset - shard.offset, tensor.from.count});
  }
  return range;
}

ShardContent content_of(const TensorSplit& split, Slice shard, bool whole_model) {
  ShardContent c;
  c.shard = shard;
  const Slice large = range_of(split.large(), shard, c.large_places);
  c.small = range_of(split.small(), shard, c.small_places);
  if (whole_model && large.count > 0) c.pieces = {large};
  if (!whole_model)
    for (const auto& tensor : split.large())
      if (!cut({&tensor.to, 1}, large).empty()) c.pieces.push_back(tensor.to);
  return c;
}

// Reads messages for another rule.
class DecodingRule final : public ShardRule {
 public:
  DecodingRule(const Compression& how, ShardContent content, FloatView like, std::unique_ptr<ShardRule> rule,
               Clock& clock)
      : effort_(how.maker.effort.decode),
        content_(std::move(content)),
        compressor_(how.maker.compressor()),
        plain_(Compression::parse("identity").maker.compressor()),
        said_(part(like, content_.shard)),
        packed_(part(like, content_.shard)),
        rule_(std::move(rule)),
        clock_(clock) {}

  void receive(int from, std::int64_t step, ConstBytes message) override {
    kernels::fill(0, packed_.view());
    MessageReader reader(message, from);
    std::size_t at = 0;
    const auto next = [&](std::size_t count) {
      return part(packed_.view(), {std::exchange(at, at + count), count});
    };
    for (const Slice& piece : content_.pieces) compressor_->decode_add(reader.next(), 1, next(piece.count));
    if (content_.small.count > 0) plain_->decode_add(reader.next(), 1, next(content_.small.count));
    reader.finish();
    at = 0;
    for (const auto* places : {&content_.large_places, &content_.small_places})
      for (const Slice& place : *places) copy(next(place.count), part(said_.view(), place));
    clock_.work(effort_ * static_cast<double>(said_.view().size_bytes()));
    rule_->push(from, step, said_.view());
  }
  void push(int, std::int64_t, ConstFloatView) override { throw Bug("a push that is not compressed"); }
  ConstFloatView pull(int from, std::int64_t step) override { return rule_->pull(from, step); }
  void save(StateWriter& state) const override { rule_->save(state); }
  void load(StateReader& state) override { rule_->load(state); }

 private:
  const double effort_;
  const ShardContent content_;
  const std::unique_ptr<Compressor> compressor_;
  const std::unique_ptr<Compressor> plain_;
  Buffer said_;    // in the order of the model
  Buffer packed_;  // in the order of the message
  const std::unique_ptr<ShardRule> rule_;
  Clock& clock_;
};

class CodedPushes final : public PushCodec {
 public:
  CodedPushes(Worker& w, const Compression& how, Slice bucket, std::span<const Slice> shards)
      : how_(how),
        bucket_(bucket),
        like_(w.params()),
        clock_(w.comm().clock()),
        own_(how, TensorSplit(w.tensors(), w.rows(), how.min_values).cut_at(shards), w.params(),
             Contribution::Remembers::kLarge),
        compressor_(how.maker.compressor()),
        plain_(Compression::parse("identity").maker.compressor()),
        writers_(shards.size()),
        messages_(shards.size()) {
    for (const Slice& shard : shards) contents_.push_back(content_of(own_.split(), shard, how.whole_model));
  }

  Slice bucket() const override { return bucket_; }
  std::span<const ConstBytes> encode(Worker& w, ConstFloatView x) override {
    own_.take(x, {w.rank(), w.t(), rate_.rescale(w.lr())});
    Rng rng = w.rng(Rng::Use::kRounding);
    // Each bucket has draws of its own; the one that begins with the vector has those of a push in one.
    if (bucket_.offset > 0) rng = Rng(rng.next() + bucket_.offset, w.rank(), w.t(), Rng::Use::kRounding);
    for (std::size_t s = 0; s < contents_.size(); ++s) {
      const Rng draws(rng.next(), 0, 0, Rng::Use::kRounding);
      const ShardContent& content = contents_[s];
      writers_[s].clear();
      writers_[s].add(*compressor_, own_.memory().pending(), content.pieces, draws);
      MessageReader reader(writers_[s].bytes(), w.rank());
      for (const Slice& piece : content.pieces) own_.memory().sent(piece, *compressor_, reader.next());
      if (content.small.count > 0) writers_[s].add(*plain_, own_.small(), {&content.small, 1}, draws);
      messages_[s] = writers_[s].bytes();
    }
    own_.commit();
    rate_.remember(w.lr());
    clock_.work((kCopiesOfMemory + how_.maker.effort.encode) *
                static_cast<double>(own_.memory().pending().size_bytes()));
    return messages_;
  }
  std::unique_ptr<ShardRule> decoding(Slice shard, std::unique_ptr<ShardRule> rule) const override {
    const Slice there{bucket_.offset + shard.offset, shard.count};
    const auto content = std::find_if(contents_.begin(), contents_.end(),
                                      [&](const ShardContent& c) { return c.shard == there; });
    TACIT_CHECK(content != contents_.end(), "a push codec was made for other shards");
    return std::make_unique<DecodingRule>(how_, *content, like_, std::move(rule), clock_);
  }
  // m <- mu m + g grows to g/(1 - mu), in either of its forms.
  double gain() const override { return 1 / (1 - static_cast<double>(how_.momentum.value_or(0))); }

  void save(Worker&, StateWriter& state) override {
    rate_.save(state);
    own_.save(state);
  }
  void load(Worker&, StateReader& state) override {
    rate_.load(state);
    own_.load(state);
  }

 private:
  const Compression how_;
  const Slice bucket_;
  const FloatView like_;
  Clock& clock_;
  Contribution own_;
  LastRate rate_;
  const std::unique_ptr<Compressor> compressor_;
  const std::unique_ptr<Compressor> plain_;
  std::vector<ShardContent> contents_;  // by shard, as are these
  std::vector<MessageWriter> writers_;
  std::vector<ConstBytes> messages_;
};

}  // namespace

std::vector<std::unique_ptr<PushCodec>> make_push_codecs(Worker& w, int servers,
                                                         const std::optional<Compression>& compress) {
  std::vector<Slice> buckets(w.buckets().begin(), w.buckets().end());
  if (buckets.empty() || (compress && compress->whole_model && !compress->by_bucket))
    buckets = {{0, w.params().size()}};
  std::vector<std::unique_ptr<PushCodec>> codecs;
  for (const Slice& bucket : buckets) {
    std::vector<Slice> shards = Shards::parts(bucket.count, servers);
    for (Slice& each : shards) each.offset += bucket.offset;
    if (compress)
      codecs.push_back(std::make_unique<CodedPushes>(w, *compress, bucket, shards));
    else
      codecs.push_back(std::make_unique<PlainPushes>(w.params(), bucket, servers));
  }
  return codecs;
}

}  // namespace tacit
