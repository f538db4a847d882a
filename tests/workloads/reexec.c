// SPDX-License-Identifier: Apache-2.0
// Built twice (stage one, two; the code differs, because a linker leaves names out of the build-id). Works for argv[1] seconds of CPU time;
// then, told a file by argv[2], puts it in its own place and executes the same path again: same pid, same path, another inode.
#include <unistd.h>

#include "workload.h"
NOINLINE void STAGE_LEAF(void) { burn(STAGE_ROUNDS); }
NOINLINE void STAGE_WORK(void) {
  while (running()) STAGE_LEAF();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  STAGE_WORK();
  if (argc > 2) {
    puts("chain main;stage_one_work;stage_one_leaf");
    puts("chain main;stage_two_work;stage_two_leaf");
    puts("split stage_one_leaf 50 stage_two_leaf 50");
    if (rename(argv[2], argv[0]) != 0) abort();
    execl(argv[0], argv[0], argv[1], (char *)NULL);
    abort();
  }
  return 0;
}
