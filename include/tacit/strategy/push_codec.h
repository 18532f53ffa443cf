// SPDX-License-Identifier: MIT
// How what workers push to shards travels: as it is, or compressed, where each keeps what it left out and adds it to its
// next push (CD-SGD, arXiv:2106.10796). What shards answer is exact in either case.
#pragma once

#include <memory>
#include <span>

#include "tacit/core/state.h"
#include "tacit/core/views.h"

namespace tacit {

class ShardRule;  // tacit/protocols/shards.h
class Worker;

// Made in Strategy::start, for one part of vectors like params(), which has shards of its own.
//
// Threads  the trainer's task; what decoding() returns is the shard's agent's.
class PushCodec {
 public:
  virtual ~PushCodec() = default;
  // The part: one of Worker::buckets(), or all where there are none or where what is compressed together is more.
  virtual Slice bucket() const = 0;
  // Messages to the shards of the part in place of x, which is the whole vector and of which no more is read, for
  // Shards::push; they stay as they are until the next call. Throws Diverged where x is not finite and must be
  // compressed; what is remembered is as it was then.
  virtual std::span<const ConstBytes> encode(Worker& w, ConstFloatView x) = 0;
  // A rule for that shard, as it lies in the part, that gives what messages say to the rule that it is given.
  virtual std::unique_ptr<ShardRule> decoding(Slice shard, std::unique_ptr<ShardRule> rule) const = 0;
  // By how much a gradient that stays the same is larger in the end than it was given, by a momentum in front.
  virtual double gain() const { return 1; }
  // Residuals, momentum: what the next push depends on.
  virtual void save(Worker& w, StateWriter& state) = 0;
  virtual void load(Worker& w, StateReader& state) = 0;
};

}  // namespace tacit
