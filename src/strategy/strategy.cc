// SPDX-License-Identifier: MIT
#include "tacit/strategy/strategy.h"

namespace tacit {

void Strategy::start(Worker& w) { w.comm().broadcast(bytes_of(w.params()), 0); }

void Strategy::model(Worker& w, FloatView out) { copy(w.params(), out); }

void Strategy::finish(Worker&) {}

}  // namespace tacit
