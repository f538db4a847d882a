// SPDX-License-Identifier: Apache-2.0
// reuse_pid COUNT MILLISECONDS PROGRAM…: COUNT processes, all with the same pid (/proc/sys/kernel/ns_last_pid), each another of the
// programs. Prints a line for each: "PID BEGIN_NS END_NS PROGRAM_INDEX", CLOCK_MONOTONIC.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const int programs = argc - 3, last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  if (last_pid < 0) return 77;
  pid_t wanted = 0;
  for (int done = 0, tries = 0; done < atoi(argv[1]) && tries < 20 * atoi(argv[1]); tries++) {
    char text[16];
    if (wanted != 0) {
      snprintf(text, sizeof text, "%d", wanted - 1);
      if (pwrite(last_pid, text, strlen(text), 0) < 0) return 1;
    }
    const long long begin = now_ns();
    const pid_t child = fork();
    if (child == 0) {
      if (wanted != 0 && getpid() != wanted) _exit(0);  // somebody else was faster
      execl(argv[3 + done % programs], argv[3 + done % programs], argv[2], (char *)NULL);
      _exit(1);
    }
    waitpid(child, NULL, 0);
    if (wanted == 0) wanted = child;
    else if (child != wanted) continue;
    printf("%d %lld %lld %d\n", child, begin, now_ns(), done % programs);
    done++;
  }
  return 0;
}
