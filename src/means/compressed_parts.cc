// SPDX-License-Identifier: MIT
#include "means/compressed_parts.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }
constexpr std::size_t kHead = sizeof(std::uint32_t);

}  // namespace

TensorSplit::TensorSplit(std::span<const Slice> tensors, std::span<const std::size_t> rows,
                         std::size_t min_values) {
  TACIT_CHECK(rows.empty() || rows.size() == tensors.size(), "every tensor has its rows or none has");
  for (std::size_t i = 0; i < tensors.size(); ++i)
    add(tensors[i].count >= std::max<std::size_t>(min_values, 1), i, tensors[i], rows.empty() ? 0 : rows[i]);
}

void TensorSplit::add(bool large, std::size_t index, Slice from, std::size_t rows) {
  std::size_t& values = large ? large_values_ : small_values_;
  (large ? large_ : small_).push_back({index, from, {values, from.count}, rows});
  values += from.count;
}

TensorSplit TensorSplit::cut_at(std::span<const Slice> shards) const {
  TensorSplit pieces;
  for (const bool large : {true, false})
    for (const Slice& shard : shards)
      for (const Tensor& tensor : large ? large_ : small_)
        for (const Slice& piece : cut({&tensor.from, 1}, shard)) pieces.add(large, tensor.index, piece, 0);
  return pieces;
}

std::vector<Slice> TensorSplit::pieces(bool whole_model) const {
  if (whole_model) return {{0, large_values_}};
  std::vector<Slice> pieces;
  for (const Tensor& tensor : large_) pieces.push_back(tensor.to);
  return pieces;
}

std::vector<Slice> cut(std::span<const Slice> pieces, Slice shard) {
  std::vector<Slice> parts;
  for (const Slice& p : pieces) {
    const std::size_t begin = std::max(p.offset, shard.offset);
    const std::size_t end = std::min(p.offset + p.count, shard.offset + shard.count);
    if (begin < end) parts.push_back({begin, end - begin});
  }
  return parts;
}

void MessageWriter::add(Compressor& by, ConstFloatView x, std::span<const Slice> parts, Rng rng,
                        std::size_t origin) {
  std::size_t most = size_;
  for (const Slice& p : parts) most += kHead + padded(by.max_bytes(p.count));
  if (words_.size() * sizeof(std::uint32_t) < most) words_.resize(most / sizeof(std::uint32_t));
  const Bytes out = std::as_writable_bytes(std::span(words_));
  for (const Slice& p : parts) {
    TACIT_CHECK(p.count <= std::numeric_limits<std::int32_t>::max(), "a tensor has more than 2^31 values");
    const Rng own(rng.next(), 0, 0, Rng::Use::kRounding);
    const std::size_t written =
        by.encode(part(x, {p.offset - origin, p.count}), own, out.subspan(size_ + kHead));
    TACIT_CHECK(written <= std::numeric_limits<std::uint32_t>::max(), "a payload has more than 4 GiB");
    const auto length = static_cast<std::uint32_t>(written);
    std::memcpy(out.data() + size_, &length, kHead);
    std::memset(out.data() + size_ + kHead + written, 0, padded(written) - written);
    size_ += kHead + padded(written);
  }
}

ConstBytes MessageReader::next() {
  if (left_.size() < kHead) refuse("ends before a length");
  std::uint32_t length = 0;
  std::memcpy(&length, left_.data(), kHead);
  if (padded(length) > left_.size() - kHead) refuse("is shorter than a length in it says");
  const ConstBytes payload = left_.subspan(kHead, length);
  left_ = left_.subspan(kHead + padded(length));
  return payload;
}

void MessageReader::finish() const {
  if (!left_.empty()) refuse("is longer than its payloads");
}

void MessageReader::refuse(const char* why) const {
  throw Mismatch("the compressed message from rank " + std::to_string(from_) + " " + why +
                 "; do all ranks run the same build with the same model and compressor?");
}

Direction::Direction(const MakeCompressor& make, std::vector<MessageParts> shards)
    : compressor_(make()),
      plain_(Compression::parse("identity").maker.compressor()),
      shards_(std::move(shards)) {}

void Direction::write(MessageWriter& message, std::size_t shard, ConstFloatView x, Rng rng,
                      std::size_t origin) {
  message.clear();
  message.add(*compressor_, x, shards_[shard].compressed, rng, origin);
  message.add(*plain_, x, shards_[shard].plain, rng, origin);
}

template <class F>
void Direction::each(Received what, std::size_t shard, std::size_t origin, const F& f) const {
  MessageReader reader(what.message, what.from);
  for (const Slice& p : shards_[shard].compressed)
    f(*compressor_, reader.next(), Slice{p.offset - origin, p.count});
  for (const Slice& p : shards_[shard].plain) f(*plain_, reader.next(), Slice{p.offset - origin, p.count});
  reader.finish();
}

void Direction::add(Received what, std::size_t shard, float factor, FloatView y, std::size_t origin) const {
  each(what, shard, origin, [&](const Compressor& by, ConstBytes payload, Slice at) {
    by.decode_add(payload, factor, part(y, at));
  });
}

void Direction::keep_rest(Feedback& memory, Received what, std::size_t shard, std::size_t origin) const {
  each(what, shard, origin,
       [&](const Compressor& by, ConstBytes payload, Slice at) { memory.sent(at, by, payload); });
}

}  // namespace tacit
