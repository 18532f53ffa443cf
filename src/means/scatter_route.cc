// SPDX-License-Identifier: MIT
// Workers may be silent to owners, and owners to all; both keep what they did not say (CompSkipDSGD; in dist-EF-SGD
// nobody is ever silent).
//
//   worker i   p_i = x_i + e_i;  speaks: sends C_up(p_i), e_i <- p_i - C_up(p_i);  is silent: e_i <- p_i
//   owner      q = (1/P) sum of what came + e_s;  speaks: sends C_down(q), e_s <- q - C_down(q);  is silent: e_s <- q
//   all        x <- what the owners said, or 0
#include <algorithm>
#include <utility>

#include "means/mean_route.h"
#include "tacit/core/error.h"
#include "tacit/core/kernels.h"
#include "topology/chunks.h"

namespace tacit {
namespace {

bool anyone(const std::optional<Speakers>& who) {
  return !who || std::find(who->turns.begin(), who->turns.end(), true) != who->turns.end();
}

class ScatterRoute final : public MeanRoute {
 public:
  ScatterRoute(ScatterPlan plan, const Collectives& comm)
      : plan_(std::move(plan)),
        ranks_(static_cast<std::size_t>(comm.size())),
        me_(static_cast<std::size_t>(comm.rank())),
        owned_(chunk(plan_.like.size(), comm.size(), comm.rank())),
        average_(part(plan_.like, owned_)),
        memory_(plan_.owners, 0, part(plan_.like, owned_)),
        messages_(ranks_ + 1) {}

  void mean(Collectives& comm, const MeanStep& step, bool speak, Feedback& memory,
            FloatView result) override {
    Rng rng = step.rng;
    say_up(comm, step.workers, speak ? &memory : nullptr, rng);
    if (!memory_.take(average_.view(), {0, owned_.count}, step.rescale))
      throw Diverged(comm.rank(), step.t,
                     "the average of what was sent compressed is not finite; lower the learning rate");
    const bool answer = speaks(step.servers, comm.rank(), memory_.pending(), average_.view());
    say_down(comm, step.servers, answer, rng, result);
  }
  void commit() override { memory_.commit(); }

  void save(StateWriter& state) const override { memory_.save(state); }
  void load(StateReader& state) override { memory_.load(state); }

 private:
  // memory: what this rank has to say, or nothing. Afterwards average_ is what came to this owner.
  void say_up(Collectives& comm, const std::optional<Speakers>& who, Feedback* memory, Rng& rng) {
    kernels::fill(0, average_.view());
    out_.assign(ranks_, {});
    for (std::size_t r = 0; memory != nullptr && r < ranks_; ++r) {
      plan_.up.write(messages_[r], r, memory->pending(), draws(rng));
      out_[r] = messages_[r].bytes();
      plan_.up.keep_rest(*memory, {comm.rank(), out_[r]}, r);
    }
    const float share = 1.0F / static_cast<float>(ranks_);
    tell(comm, who, [&](int from, ConstBytes message) {
      plan_.up.add({from, message}, me_, share, average_.view(), owned_.offset);
    });
  }

  void say_down(Collectives& comm, const std::optional<Speakers>& who, bool speak, Rng& rng,
                FloatView result) {
    MessageWriter& message = messages_[ranks_];
    out_.assign(ranks_, {});
    if (speak) {
      plan_.down.write(message, me_, memory_.pending(), draws(rng), owned_.offset);
      plan_.down.keep_rest(memory_, {comm.rank(), message.bytes()}, me_, owned_.offset);
      out_.assign(ranks_, message.bytes());
    }
    tell(comm, who, [&](int from, ConstBytes said) {
      plan_.down.add({from, said}, static_cast<std::size_t>(from), 1, result);
    });
  }

  // What is in out_, by those whose turn it is; who then has nothing to say sends an empty message.
  void tell(Collectives& comm, const std::optional<Speakers>& who, const Take& take) {
    if (!anyone(who)) return;
    if (!who) comm.all_to_all(out_, take);
    if (who)
      comm.some_to_all(who->turns, out_, [&](int from, ConstBytes message) {
        if (!message.empty()) take(from, message);
      });
    spend_copies(comm, plan_.effort.decode, plan_.like.size());  // of as many shards as there are ranks
  }

  static Rng draws(Rng& from) { return {from.next(), 0, 0, Rng::Use::kRounding}; }

  ScatterPlan plan_;
  const std::size_t ranks_;
  const std::size_t me_;
  const Slice owned_;                    // this rank averages that part of the vector
  Buffer average_;                       // what came to it
  Feedback memory_;                      // and what it has not answered yet
  std::vector<MessageWriter> messages_;  // to every owner, and this owner's to all
  std::vector<ConstBytes> out_;          // what goes to each rank
};

}  // namespace

bool speaks(const std::optional<Speakers>& who, int rank, ConstFloatView all, ConstFloatView fresh) {
  if (!who) return true;
  if (!who->turns[static_cast<std::size_t>(rank)]) return false;
  return !who->chooses || who->chooses(kernels::norm2(all), kernels::norm2(fresh));
}

std::unique_ptr<MeanRoute> make_scatter_route(ScatterPlan plan, const Collectives& comm) {
  return std::make_unique<ScatterRoute>(std::move(plan), comm);
}

}  // namespace tacit
