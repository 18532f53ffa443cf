// SPDX-License-Identifier: MIT
#include "protocols/local_rounds.h"

namespace tacit {

void LocalRounds::start(Worker& w) {
  Strategy::start(w);
  mean_ = w.make_mean({.sends = Sends::kDifferences});
  if (keeps_base()) base_.assign(w.params());
}

void LocalRounds::step(Worker& w) {
  w.apply(w.gradient());
  apart_ = (w.t() + 1) % period_ != 0;
  if (!apart_) come_together(w);
}

void LocalRounds::come_together(Worker& w) {
  mean_->mean_from(w, base_.view(), w.params());
  end_round(w);
  if (keeps_base()) base_.take(w.params());
  apart_ = false;
}

void LocalRounds::model(Worker& w, FloatView out) {
  copy(w.params(), out);
  if (apart_) w.comm().mean(out);
}

void LocalRounds::finish(Worker& w) {
  if (apart_) w.comm().mean(w.params());
  apart_ = false;
  mean_->finish(w);
}

void LocalRounds::save(Worker& w, StateWriter& state) {
  state.write("rounds.apart", std::uint64_t{apart_});
  state.write("rounds.base", base_.view());
  mean_->save(w, state);
}

void LocalRounds::load(Worker& w, StateReader& state) {
  apart_ = state.number("rounds.apart") != 0;
  state.read("rounds.base", base_.view());
  mean_->load(w, state);
}

}  // namespace tacit
