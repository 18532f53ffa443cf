// SPDX-License-Identifier: MIT
// Reads what the ranks of this machine tell their launcher, as they write it.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/launch/descriptor.h"
#include "world/launcher_note.h"

namespace tacit::cli {

// Memory with a note per rank of the job, which the ranks inherit.
//
// Lifetime  the loop does not run any more when it is dropped. Threads: the loop's.
class Notes {
 public:
  // Where nothing was noted of a rank but its port, the note is kNone.
  using Noted = std::function<void(int rank, LauncherNote note, std::uint16_t port)>;
  // Throws InvalidConfig.
  Notes(boost::asio::io_context& loop, int ranks, Noted noted);

  int descriptor() const { return memory_.get(); }
  // Calls `noted` for what is new. Does so by itself ten times a second; whoever needs to know all asks for it.
  void look();
  // As if nobody had noted anything of this rank.
  void clear(int rank);

 private:
  using Bytes = std::array<unsigned char, kBytesPerNote>;

  void look_again();

  const UniqueFd memory_;
  const Noted noted_;
  boost::asio::steady_timer timer_;
  std::vector<Bytes> known_;
};

}  // namespace tacit::cli
