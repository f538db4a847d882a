// SPDX-License-Identifier: Apache-2.0
// argv[2] levels of recursion.
#include "workload.h"
NOINLINE int recurse(int levels) {
  if (levels > 1) {
    int below = recurse(levels - 1);
    NO_TAIL_CALL();
    return below + 1;
  }
  while (running()) burn(200000);
  return 1;
}
int main(int argc, char **argv) {
  int levels = argc > 2 ? atoi(argv[2]) : 20;
  begin(argc, argv);
  printf("depth recurse %d\n", levels);
  printf("complete\n");
  return recurse(levels) == levels ? 0 : 1;
}
