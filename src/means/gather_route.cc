// SPDX-License-Identifier: MIT
#include <utility>

#include "means/mean_route.h"

namespace tacit {
namespace {

class GatherRoute final : public MeanRoute {
 public:
  GatherRoute(const Compression& how, std::vector<Slice> pieces)
      : effort_(how.maker.effort), all_(how.maker.compressor, {{std::move(pieces), {}}}) {}

  void mean(Collectives& comm, const MeanStep& step, bool /*speak: nobody is silent*/, Feedback& memory,
            FloatView result) override {
    all_.write(message_, 0, memory.pending(), step.rng);
    all_.keep_rest(memory, {comm.rank(), message_.bytes()}, 0);
    out_.assign(static_cast<std::size_t>(comm.size()), message_.bytes());
    const float share = 1.0F / static_cast<float>(comm.size());
    comm.all_to_all(out_, [&](int from, ConstBytes message) { all_.add({from, message}, 0, share, result); });
    spend_copies(comm, comm.size() * effort_.decode, result.size());
  }

 private:
  const Effort effort_;
  Direction all_;
  MessageWriter message_;
  std::vector<ConstBytes> out_;  // the same for each rank
};

}  // namespace

std::unique_ptr<MeanRoute> make_gather_route(const Compression& how, std::vector<Slice> pieces) {
  return std::make_unique<GatherRoute>(how, std::move(pieces));
}

}  // namespace tacit
