// SPDX-License-Identifier: MIT
// Collectives that go on among the ranks that live.
#pragma once

#include <memory>

#include "tacit/collectives/comm.h"
#include "tacit/core/tasks.h"
#include "tacit/transport/endpoint.h"

namespace tacit {

// A Comm over `plain`, on an endpoint that survives losses, which outlives it.
//
// While no rank is lost, collectives are the plain ones. As soon as one is, every rank's wait in a collective ends, and
// this collective and all later ones go over a star: each rank calls the agent of the lowest rank that lives, the head,
// with its contribution, and is answered when all that live have come. A loss shrinks whom the head waits for; if the
// head is lost, its callers go to the next one.
//
// Some ranks may have got the result of a collective in whose middle the loss fell, by messages or from a head that was
// lost after it. They keep it until the next one is done. A head that misses a rank asks it, and hands on the result it
// gets: so that all ranks have the same one, and nobody is counted twice. Only the last collective of a run has no next
// one: where a rank is lost there, those that remain may get different results.
//
// A rank that was lost and has come back (Endpoint::entry) is outside at first: its collectives are among itself alone,
// and nobody counts on it. One that takes part admits it between two collectives, which all that live learn before either
// goes on: no collective that the one admits it to can have ended without the other. From the first loss on all go over
// the star, whoever has come back.
//
// all_to_all has no such form: after a loss it throws PeerLost. So do the collectives of Background::start and of forks.
// A swap needs none: what does not come is not in its result.
//
// Cost      one copy of the vector before a collective and one after; after a loss the head sends and receives P
//           vectors.
// Bits      equal on all ranks that live. After a loss not those of other worlds: the sum is in rank order.
std::unique_ptr<Comm> make_surviving_comm(Endpoint& endpoint, Tasks& tasks, Tag::Lane lane,
                                          std::unique_ptr<Comm> plain);

}  // namespace tacit
