// SPDX-License-Identifier: MIT
// D-PSGD -- X. Lian, C. Zhang, H. Zhang, C.-J. Hsieh, W. Zhang, J. Liu, "Can Decentralized Algorithms Outperform
// Centralized Algorithms?", NIPS 2017, arXiv:1705.09056, Algorithm 1.
//
// Idea        every rank averages its weights with its neighbours' on a fixed graph, while it computes its gradient.
// Symbols     x_i = w.params()   g_i = w.gradient()   W = the graph's, 1 / (neighbours + 1) for a rank and for each
//             neighbour   eta g = what w.apply does
// Cost        d floats to each neighbour per step, behind the gradient: 2 d on the ring, whatever the number of ranks.
// Reduces to  a mean of all weights at every step on the complete graph; plain SGD for one rank
//             (tests/strategies/dpsgd_test.cc).
// Differs     W need not be symmetric, only doubly stochastic: `exponential` is a directed graph on which all ranks send
//             to as many as they hear. Momentum stays local.
#include <memory>
#include <optional>

#include "protocols/neighbour_mix.h"
#include "tacit/strategy/registry.h"
#include "topology/graph.h"

namespace tacit {
namespace {

class DPsgd final : public Strategy {
 public:
  explicit DPsgd(Graph graph) : graph_(graph) {}

  void start(Worker& w) override {
    Strategy::start(w);
    links_ = {neighbours(graph_, w.rank(), w.size()), neighbours_towards(graph_, w.rank(), w.size())};
    mix_.emplace(w.params());
    mix_->begin(w.comm(), w.params(), links_);
  }

  void step(Worker& w) override {
    if (!mix_->out()) mix_->begin(w.comm(), w.params(), links_);  // after load()
    mix_->end(w.params());
    w.apply(w.gradient());  // x_i <- sum_j W_ij x_j - eta g_i(x_i)
    mix_->begin(w.comm(), w.params(), links_);
  }

  void model(Worker& w, FloatView out) override {
    copy(w.params(), out);
    if (apart_) w.comm().mean(out);
  }

  void finish(Worker& w) override {
    mix_->drop();
    w.comm().mean(w.params());
    apart_ = false;
  }

  // What is under way are the weights of this moment, which are sent again after load().
  void load(Worker&, StateReader&) override { mix_->drop(); }

 private:
  const Graph graph_;
  bool apart_ = true;  // until finish
  Links links_;
  std::optional<NeighbourMix> mix_;
};

}  // namespace

StrategyInfo dpsgd_info() {
  return {.name = "dpsgd",
          .summary = "weights averaged with the neighbours on a graph, behind the gradient",
          .paper = "arXiv:1705.09056",
          .example = "dpsgd:graph=exponential",
          .make = [](OptionReader& options, int) -> std::unique_ptr<Strategy> {
            return std::make_unique<DPsgd>(
                read_graph(options, "graph", Graph::kRing, {"who is whose neighbour; uniform: everybody"}));
          },
          .sends = Sends::kWeights,
          .keeps_weights = true};
}

}  // namespace tacit
