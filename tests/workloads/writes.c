// SPDX-License-Identifier: Apache-2.0
// Writes to descriptor 9 (/dev/null) pieces of 1 to 1,000 bytes, and to 99, which is not open: writes TIMES. Says how many bytes, how many pieces of more than 500, and
// how often it failed.
#include <fcntl.h>
#include <unistd.h>

#include "workload.h"

static char bytes[1000];

NOINLINE long write_some(int fd, long count) {
  const long written = write(fd, bytes, (size_t)count);
  NO_TAIL_CALL();
  return written;
}

int main(int argc, char **argv) {
  const long times = argc > 1 ? atol(argv[1]) : 1000;
  if (dup2(open("/dev/null", O_WRONLY), 9) != 9) return 1;
  long sum = 0, large = 0, failed = 0;
  for (long i = 0; i < times; i++) {
    const long count = 1 + i * 7919 % 1000;
    if (write_some(9, count) != count) return 1;
    sum += count;
    large += count > 500;
    if (i % 10 == 0) failed += write_some(99, count) < 0;
    if (i % 2000 == 0) usleep(1000);  // whoever looks keeps up
  }
  printf("wrote %ld\nlarge %ld\nfailed %ld\n", sum, large, failed);
}
