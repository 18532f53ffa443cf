// SPDX-License-Identifier: MIT
// CompSkipDSGD -- T. T. Phuong, L. T. Phong, K. Fukushima, "Distributed Stochastic Gradient Descent With Compressed and
// Skipped Communication", IEEE Access 11, 2023, DOI 10.1109/ACCESS.2023.3315331.
//
// Idea        workers and servers compress what they send, and in any step may send nothing; each keeps what it has not
//             sent and adds it to what it would send next. A worker computes nearer to where its own updates led.
// Symbols     x = x_   y_i = x + ahead e_i = w.params()   g_i = w.gradient()   P = w.size()   C_w = s_.up   C_s = s_.down
//             s_{t,i} = s_.skip   r_t = s_.server_skip; eta p_i, eta e_i, eta q and eta e_s are in means/scatter_route.cc
// Cost        a compressed vector up and one down, each in the steps in which its sender speaks.
// Reduces to  ssgd where all speak and nothing is compressed; dist-EF-SGD where all speak, for ahead=0. Where all skip
//             alike and nothing is compressed, gradient accumulation for ahead=0, and local SGD for ahead=1.
// Differs     what travels is the inner optimiser's update eta_t p_i: momentum comes before compression with every
//             optimiser, and residuals have their eta in them, so that none is multiplied by eta_{t-1}/eta_t. y_i is not x
//             (step-ahead error feedback, arXiv:2008.05823): otherwise gradients do not know of steps that wait to be
//             sent, and take them again.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "strategies/skip.h"
#include "tacit/core/buffer.h"
#include "tacit/core/kernels.h"
#include "tacit/strategy/registry.h"

namespace tacit {
namespace {

constexpr const char* kName = "compskip";
const Meaning kSkip{"when workers are silent: never, period:K, random:RHO or magnitude:THETA"};
// Whoever speaks when the servers do not is only heard later.
const Meaning kStagger{"workers speak by turns", "true, unless servers have the same period"};
const Meaning kUp{"compressor of what workers send, + for its commas", "topk:ratio=0.05+packed+min=0"};
constexpr const char* kDefaultCompressor = "topk:ratio=0.05,packed,min=0";

struct Sides {
  std::optional<Compression> up;  // not said: kDefaultCompressor
  std::optional<Compression> down;
  SkipSchedule skip;
  SkipSchedule server_skip;
  bool stagger = true;
  double ahead = 0.5;
};

class CompSkip final : public Strategy {
 public:
  explicit CompSkip(Sides sides) : s_(std::move(sides)) {}

  std::string why_not(const Compression& how) const override {
    if (!s_.up && !s_.down) return "";
    return "the compressor " + how.text + " says what up= and down= say; leave one of them out";
  }

  void start(Worker& w) override {
    Strategy::start(w);
    using Whose = SkipSchedule::Whose;
    const auto workers = [this, ranks = w.size()](std::int64_t t) {
      return s_.skip.at(t, ranks, seed_, s_.stagger ? Whose::kEachOwn : Whose::kAllAlike);
    };
    const auto servers = [this, ranks = w.size()](std::int64_t t) {
      return s_.server_skip.at(t, ranks, seed_ + 1, Whose::kAllAlike);
    };
    mean_ = w.make_mean({.sends = Sends::kBothWays,
                         .silence = Silence{workers, servers, s_.up, s_.down, kDefaultCompressor}});
    x_.assign(w.params());
    update_.assign(w.params());
    seed_ = w.rng(Rng::Use::kPeerChoice).next();
    if (s_.skip.draws() || s_.server_skip.draws())
      w.comm().broadcast(std::as_writable_bytes(std::span(&seed_, 1)), 0);
  }

  void step(Worker& w) override {
    update_.take(w.params());
    w.apply(w.gradient());
    kernels::difference(w.params(), update_.view(), update_.view());  // -eta_t (g_i + momentum)
    mean_->mean(w, update_.view());
    kernels::add(update_.view(), x_.view());  // the same on all ranks
    x_.give(w.params());
    if (s_.ahead > 0) mean_->add_unsent(static_cast<float>(s_.ahead), w.params());
  }

  void model(Worker&, FloatView out) override { x_.give(out); }
  void finish(Worker& w) override { x_.give(w.params()); }

  void save(Worker& w, StateWriter& state) override {
    state.write("compskip.seed", seed_);
    s_.skip.save(state);
    s_.server_skip.save(state);
    state.write("compskip.x", x_.view());
    mean_->save(w, state);
  }
  void load(Worker& w, StateReader& state) override {
    seed_ = state.number("compskip.seed");
    s_.skip.load(state);
    s_.server_skip.load(state);
    state.read("compskip.x", x_.view());
    mean_->load(w, state);
  }

 private:
  Sides s_;
  Buffer x_;
  Buffer update_;
  std::uint64_t seed_ = 0;  // rank 0's
  std::unique_ptr<Mean> mean_;
};

// A compressor as an option's value, where + stands for the commas: topk:ratio=0.01+min=0.
std::optional<Compression> read_compressor(OptionReader& options, const std::string& key,
                                           const Meaning& meaning) {
  std::string spec = options.text(key, "", meaning);
  if (spec.empty()) return std::nullopt;
  std::replace(spec.begin(), spec.end(), '+', ',');
  Compression how = Compression::parse(spec);
  if (const std::string reason = why_not(kName, Sends::kBothWays, how); !reason.empty())
    throw InvalidConfig(std::string(kName) + ": " + key + "=" + how.text + ": " + reason);
  return how;
}

std::unique_ptr<Strategy> make(OptionReader& options, int /*ranks*/) {
  const auto limit = options.integer("limit", 16, 0, kMany, {"the most silent steps in a row"});
  Sides sides;
  sides.up = read_compressor(options, "up", kUp);
  sides.down = read_compressor(options, "down", {"compressor of what servers send", "as up"});
  const std::string skip = options.text("skip", "period:2", kSkip);
  sides.skip = SkipSchedule::parse("skip", skip, limit);
  const std::string server_skip = options.text("server_skip", skip, {"when servers are silent", "as skip"});
  sides.server_skip = SkipSchedule::parse("server_skip", server_skip, limit);
  sides.stagger = options.flag("stagger", !sides.skip.same_period(sides.server_skip), kStagger);
  sides.ahead = options.number("ahead", 0.5, 0, 1, {"share of its unsent updates that a gradient knows of"});
  return std::make_unique<CompSkip>(std::move(sides));
}

}  // namespace

StrategyInfo compskip_info() {
  return {.name = kName,
          .summary = "compressed and skipped updates, both ways",
          .paper = "10.1109/ACCESS.2023.3315331",
          .example = "compskip:skip=period:4,up=topk:ratio=0.01+min=0",
          .make = make,
          .sends = Sends::kBothWays,
          .keeps_weights = true};
}

}  // namespace tacit
