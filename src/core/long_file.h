// SPDX-License-Identifier: MIT
#pragma once

#include "core/plain_file.h"
#include "tacit/core/space.h"
#include "tacit/core/views.h"

namespace tacit {

// Writes a file that may be long, in pieces of any length, past the page cache where it can be: there it would cost the
// training more processor time than all else of a checkpoint, and memory that holds its data.
//
// Lifetime  the file must outlive it.
// Threads   one at a time.
// Errors    those of PlainFile.
class LongFile {
 public:
  explicit LongFile(PlainFile& file);
  void write(ConstBytes data);
  // After the last piece.
  void finish();

 private:
  Bytes room() const;

  PlainFile& file_;
  const HostMemory room_;
  std::size_t used_ = 0;  // of it
};

}  // namespace tacit
