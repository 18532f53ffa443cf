// SPDX-License-Identifier: MIT
#include "tacit/core/phantom.h"

#include <sys/mman.h>

#include <string>

#include "tacit/core/error.h"

namespace tacit {

Phantom::Phantom(std::size_t floats) {
  TACIT_CHECK(first_ == nullptr && floats > 0, "one phantom at a time, and not an empty one");
  void* const at = mmap(nullptr, floats * sizeof(float), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    throw InvalidConfig("the system gives no room for " + std::to_string(floats) +
                        " parameters; ask for fewer");
  view_ = {static_cast<float*>(at), floats};
  first_ = view_.data();
  last_ = view_.data() + view_.size();
}

Phantom::~Phantom() {
  first_ = nullptr;
  last_ = nullptr;
  munmap(view_.data(), view_.size_bytes());
}

}  // namespace tacit
