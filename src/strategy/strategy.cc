// SPDX-License-Identifier: MIT
#include "tacit/strategy/strategy.h"

namespace tacit {

std::string Strategy::why_not(const Compression&) const { return ""; }

int Strategy::pieces(int /*ranks*/) const { return 0; }

void Strategy::start(Worker& w) { w.comm().broadcast(bytes_of(w.params()), 0); }

void Strategy::ready(Worker&, Slice /*part*/) {}

void Strategy::settle(Worker&) {}

void Strategy::model(Worker& w, FloatView out) { copy(w.params(), out); }

void Strategy::finish(Worker&) {}

void Strategy::save(Worker&, StateWriter&) {}

void Strategy::load(Worker&, StateReader&) {}

void Strategy::lend(Worker&, StateWriter&) {}

void Strategy::rejoin(Worker&, StateReader&) {}

}  // namespace tacit
