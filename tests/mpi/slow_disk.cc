// SPDX-License-Identifier: MIT
// Loaded into a process by LD_PRELOAD: a disk that takes its time.
#include <unistd.h>

extern "C" int fsync(int /*file*/) {
  usleep(700'000);
  return 0;
}
