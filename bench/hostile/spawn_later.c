// SPDX-License-Identifier: MIT
// Loaded into a rank by LD_PRELOAD: once the file $HOSTILE_GO is there, the rank starts `sleep`, as a data loader or a
// profiler would be started in the middle of a run, in a session of its own, and says so by the file $HOSTILE_GO.done.
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char** environ;

static char go[4000];

static void* spawn_later(void* unused) {
  char done[sizeof go + 8];
  char* const command[] = {"setsid", "sleep", "20", NULL};
  pid_t child = 0;
  snprintf(done, sizeof done, "%s.done", go);
  while (access(go, F_OK) != 0) usleep(10000);
  if (posix_spawnp(&child, command[0], NULL, NULL, command, environ) != 0) return unused;
  FILE* const file = fopen(done, "w");
  if (file != NULL) fclose(file);
  return unused;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  if (getenv("HOSTILE_GO") == NULL) return;
  snprintf(go, sizeof go, "%s", getenv("HOSTILE_GO"));
  unsetenv("HOSTILE_GO");  // what is started starts nothing more
  unsetenv("LD_PRELOAD");
  if (pthread_create(&thread, NULL, spawn_later, NULL) == 0) pthread_detach(thread);
}
