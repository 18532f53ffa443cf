// SPDX-License-Identifier: MIT
#include "transport/mpi/cargo.h"

#include <algorithm>
#include <utility>

namespace tacit {
namespace {

// MPI matches by tag: each message has one of its own, so that those of one sender cannot take each other's place.
// There are at least 32767.
std::uint64_t count_tags() {
  void* highest = nullptr;
  int there = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &there);
  return there == 0 ? 32767U : static_cast<std::uint64_t>(*static_cast<int*>(highest));
}

}  // namespace

MpiCargo::MpiCargo(MPI_Comm comm, Inbox& inbox) : comm_(comm), inbox_(inbox), most_tags_(count_tags()) {}

std::uint64_t MpiCargo::offer(std::shared_ptr<Shipment> shipment) {
  const std::uint64_t number = next_number_++;
  shipments_.emplace(number, std::move(shipment));
  return number;
}

void MpiCargo::granted(std::uint64_t number) {
  const auto found = shipments_.find(number);
  if (found == shipments_.end()) return;
  Shipment& shipment = *found->second;
  shipment.begun = RealClock().now();
  for (std::size_t at = 0; at < shipment.data.size(); at += kPiece) {
    const ConstBytes piece = shipment.data.subspan(at, std::min(kPiece, shipment.data.size() - at));
    MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, shipment.peer, tag_of(number), comm_,
              &shipment.requests.emplace_back());
  }
}

void MpiCargo::forget(const Shipment& shipment) {
  std::erase_if(shipments_, [&](const auto& each) { return each.second.get() == &shipment; });
}

void MpiCargo::forget_offers() {
  std::erase_if(shipments_, [](const auto& each) { return each.second->requests.empty(); });
}

void MpiCargo::keep_copy(Shipment& shipment) {
  shipment.kept = pool_.take(shipment.data.size());
  const Bytes kept = shipment.kept.first(shipment.data.size());
  copy<std::byte>(shipment.data, kept);
  shipment.data = kept;
}

void MpiCargo::expect(const std::shared_ptr<Message>& message, std::uint64_t number, std::uint64_t grant) {
  Coming& coming = arrivals_.emplace_back(Coming{message, number, grant, {}});
  for (std::size_t at = 0; at < message->length; at += kPiece)
    coming.pieces.push_back({MPI_REQUEST_NULL, at, std::min(kPiece, message->length - at), false});
  listen(coming);
}

// Pieces have one tag and come in the order in which they are listened for.
void MpiCargo::listen(Coming& coming) {
  for (Piece& piece : coming.pieces)
    if (!piece.here)
      MPI_Irecv(coming.message->landing.subspan(piece.offset).data(), static_cast<int>(piece.length),
                MPI_BYTE, coming.message->from, tag_of(coming.number), comm_, &piece.request);
}

void MpiCargo::expect_only(int from, std::uint64_t grants) {
  std::erase_if(arrivals_, [&](Coming& coming) {
    if (coming.message->from != from || coming.grant < grants) return false;
    for (Piece& piece : coming.pieces) {
      if (piece.request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&piece.request);
      MPI_Wait(&piece.request, MPI_STATUS_IGNORE);  // local: nothing was sent that matches
    }
    return true;
  });
}

bool MpiCargo::expects(int from) const {
  return std::any_of(arrivals_.begin(), arrivals_.end(),
                     [&](const Coming& c) { return c.message->from == from; });
}

bool MpiCargo::homeless(int from) const {
  return std::any_of(arrivals_.begin(), arrivals_.end(),
                     [&](const Coming& c) { return c.message->from == from && c.message->homeless(); });
}

// Looks at every piece that MPI has; true while it still has one.
bool MpiCargo::look(Coming& coming) {
  bool held = false;
  for (Piece& piece : coming.pieces) {
    if (piece.request == MPI_REQUEST_NULL) continue;
    int ended = 0;
    MPI_Status status;
    MPI_Test(&piece.request, &ended, &status);
    int cancelled = 0;
    if (ended != 0) MPI_Test_cancelled(&status, &cancelled);
    piece.here = ended != 0 && cancelled == 0;
    held = held || ended == 0;
  }
  return held;
}

// True where the message is whole; the inbox has it then.
bool MpiCargo::finish(Coming& coming) {
  std::size_t received = 0;
  for (const Piece& piece : coming.pieces) {
    if (!piece.here) break;
    received += piece.length;
  }
  coming.message->received = received;
  if (received < coming.message->length) return false;
  inbox_.complete(coming.message);
  return true;
}

void MpiCargo::pause(int from) {
  for (Coming& coming : arrivals_)
    for (Piece& piece : coming.pieces)
      if (coming.message->from == from && piece.request != MPI_REQUEST_NULL) MPI_Cancel(&piece.request);
}

bool MpiCargo::filling(int from) {
  bool held = false;
  std::erase_if(arrivals_, [&](Coming& coming) {
    if (coming.message->from != from) return false;
    const bool mine = look(coming);
    held = held || mine;
    return !mine && finish(coming);
  });
  return held;
}

void MpiCargo::resume(int from) {
  for (Coming& coming : arrivals_)
    if (coming.message->from == from) listen(coming);
}

bool MpiCargo::poll() {
  std::size_t ended =
      std::erase_if(arrivals_, [&](Coming& coming) { return !look(coming) && finish(coming); });
  ended += std::erase_if(shipments_, [](const auto& each) {
    Shipment& shipment = *each.second;
    if (shipment.requests.empty()) return false;
    int sent = 0;
    MPI_Testall(static_cast<int>(shipment.requests.size()), shipment.requests.data(), &sent,
                MPI_STATUSES_IGNORE);
    if (sent != 0) shipment.done.store(true);
    return sent != 0;
  });
  return ended > 0;
}

}  // namespace tacit
