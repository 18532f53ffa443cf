// SPDX-License-Identifier: MIT
#include "transport/mpi/post.h"

#include <cstring>

#include "tacit/core/error.h"

namespace tacit {
namespace {

// Receives that wait for posts: so many can come between two looks without MPI having to keep them itself.
constexpr std::size_t kSlots = 16;
constexpr std::size_t kSlotBytes = sizeof(PostHeader) + kMostPosted;

}  // namespace

MpiPost::MpiPost(MPI_Comm comm) : comm_(comm), slots_(kSlots) {
  for (Slot& slot : slots_) {
    slot.buffer = pool_.take(kSlotBytes);
    listen(slot);
  }
}

void MpiPost::listen(Slot& slot) {
  MPI_Irecv(slot.buffer.first(kSlotBytes).data(), static_cast<int>(kSlotBytes), MPI_BYTE, MPI_ANY_SOURCE,
            kPostTag, comm_, &slot.request);
}

void MpiPost::send(int peer, const PostHeader& header, ConstBytes body) {
  TACIT_CHECK(body.size() <= kMostPosted, "a post holds no more than a slot");
  const std::size_t length = sizeof header + body.size();
  Slot& slot = outgoing_.emplace_back();
  slot.buffer = pool_.take(length);
  const Bytes all = slot.buffer.first(length);
  std::memcpy(all.data(), &header, sizeof header);
  copy<std::byte>(body, all.subspan(sizeof header));
  MPI_Isend(all.data(), static_cast<int>(length), MPI_BYTE, peer, kPostTag, comm_, &slot.request);
}

bool MpiPost::poll(const Handle& handle) {
  bool moved = reap();
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[next_];
    int arrived = 0;
    MPI_Status status;
    MPI_Test(&slot.request, &arrived, &status);
    if (arrived == 0) break;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    const Bytes all = slot.buffer.first(static_cast<std::size_t>(length));
    PostHeader header;
    TACIT_CHECK(all.size() >= sizeof header, "a post has a header");
    std::memcpy(&header, all.data(), sizeof header);
    handle(status.MPI_SOURCE, header, all.subspan(sizeof header));
    listen(slot);
    next_ = (next_ + 1) % kSlots;
    moved = true;
  }
  return moved;
}

bool MpiPost::reap() {
  return std::erase_if(outgoing_, [](Slot& slot) {
           int sent = 0;
           MPI_Test(&slot.request, &sent, MPI_STATUS_IGNORE);
           return sent != 0;
         }) > 0;
}

void MpiPost::close() {
  for (Slot& slot : slots_) {
    MPI_Cancel(&slot.request);
    MPI_Wait(&slot.request,
             MPI_STATUS_IGNORE);  // local: no message matches it, or one that is short and here
  }
}

}  // namespace tacit
