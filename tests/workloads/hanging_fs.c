// SPDX-License-Identifier: Apache-2.0
// hanging_fs FOLDER FILE [MS]: a file system over FUSE with one file, "program", whose contents are FILE's; each read of them takes MS
// milliseconds. SIGUSR1: it takes no request any more, as if it were stopped; who waits can be killed. SIGUSR2: it takes them and answers
// none, as sshfs does whose server is gone; who waits cannot be killed. SIGHUP: the same for contents only, or no longer; names and
// attributes are told. Ends with SIGTERM. Speaks the kernel's protocol itself (linux/fuse.h).
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workload.h"

static volatile sig_atomic_t silent, mute, mute_about_contents;
static void fall_silent(int signal) {
  if (signal == SIGHUP) {
    mute_about_contents = !mute_about_contents;
    return;
  }
  if (signal == SIGUSR1) silent = 1;
  mute = 1;
}

static int device;
static uint64_t file_size;

static void answer(uint64_t unique, int error, const void *body, size_t size) {
  static char buffer[sizeof(struct fuse_out_header) + (1 << 20)];
  struct fuse_out_header head = {.len = (uint32_t)(sizeof head + (error ? 0 : size)), .error = -error, .unique = unique};
  memcpy(buffer, &head, sizeof head);
  if (!error && size) memcpy(buffer + sizeof head, body, size);
  if (write(device, buffer, head.len) < 0 && errno != ENOENT) abort();
}

static struct fuse_attr attributes(uint64_t node) {
  struct fuse_attr attr = {.ino = node, .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755, .nlink = 1, .blksize = 4096};
  if (node != 1) attr.size = file_size;
  return attr;
}

int main(int argc, char **argv) {
  static char request[(1 << 20) + 4096];
  char options[128];
  struct stat st;
  if (argc < 3) return 2;
  int file = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &st) != 0) abort();
  file_size = (uint64_t)st.st_size;
  const useconds_t time_of_read = argc > 3 ? (useconds_t)atoi(argv[3]) * 1000 : 0;
  const char *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return 77;
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
  if (mount("hanging", argv[1], "fuse.hanging", MS_NOSUID | MS_NODEV, options) != 0) return 77;
  struct sigaction action = {.sa_handler = fall_silent};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("mounted");
  for (;;) {
    const ssize_t size = silent ? (pause(), 0) : read(device, request, sizeof request);
    if (size < 0 && errno == ENODEV) return 0;
    if (size < (ssize_t)sizeof(struct fuse_in_header)) continue;
    const struct fuse_in_header *in = (const struct fuse_in_header *)request;
    const void *argument = in + 1;
    if (mute || (mute_about_contents && (in->opcode == FUSE_OPEN || in->opcode == FUSE_READ || in->opcode == FUSE_FLUSH))) continue;
    switch (in->opcode) {
      case FUSE_INIT: {
        const struct fuse_init_in *init = argument;
        struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor : FUSE_KERNEL_MINOR_VERSION,
                                    .max_readahead = init->max_readahead, .max_write = 4096, .max_background = 16, .congestion_threshold = 8};
        answer(in->unique, 0, &out, sizeof out);
        break;
      }
      case FUSE_LOOKUP: {
        struct fuse_entry_out out = {.nodeid = 2, .attr = attributes(2)};  // nothing is cached: every look asks
        answer(in->unique, strcmp(argument, "program") == 0 ? 0 : ENOENT, &out, sizeof out);
        break;
      }
      case FUSE_GETATTR: {
        struct fuse_attr_out out = {.attr = attributes(in->nodeid)};
        answer(in->unique, 0, &out, sizeof out);
        break;
      }
      case FUSE_OPEN:
      case FUSE_OPENDIR: {
        struct fuse_open_out out = {.fh = 1, .open_flags = FOPEN_KEEP_CACHE};
        answer(in->unique, 0, &out, sizeof out);
        break;
      }
      case FUSE_READ: {
        const struct fuse_read_in *read_in = argument;
        uint64_t bytes = read_in->offset < file_size ? file_size - read_in->offset : 0;
        if (bytes > read_in->size) bytes = read_in->size;
        if (time_of_read) usleep(time_of_read);
        answer(in->unique, 0, data + read_in->offset, bytes);
        break;
      }
      case FUSE_STATFS: {
        struct fuse_statfs_out out = {.st = {.bsize = 4096, .namelen = 255}};
        answer(in->unique, 0, &out, sizeof out);
        break;
      }
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT: break;
      case FUSE_FLUSH:
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR:
      case FUSE_ACCESS: answer(in->unique, 0, NULL, 0); break;
      default: answer(in->unique, ENOSYS, NULL, 0);
    }
  }
}
