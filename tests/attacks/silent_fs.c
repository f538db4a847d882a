// SPDX-License-Identifier: Apache-2.0
// silent_fs FOLDER UID OPERATION: a file system over FUSE with one file, "map", that answers all but one operation: "lookup", "read", "flush".
// Mounted for everybody by root, as fusermount3 does where /etc/fuse.conf has user_allow_other; served as UID. Ends with SIGTERM.
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int device;
static unsigned owner;

static void answer(uint64_t unique, int error, const void *body, size_t size) {
  char buffer[sizeof(struct fuse_out_header) + 4096];
  struct fuse_out_header head = {.len = (uint32_t)(sizeof head + size), .error = -error, .unique = unique};
  memcpy(buffer, &head, sizeof head);
  if (size) memcpy(buffer + sizeof head, body, size);
  if (write(device, buffer, head.len) < 0) return;
}

static struct fuse_attr attributes(uint64_t node) {
  struct fuse_attr attr = {.ino = node, .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644, .nlink = 1, .uid = owner, .gid = owner, .blksize = 4096};
  attr.mtime = (uint64_t)time(NULL) + 100;
  if (node != 1) attr.size = 65536;
  return attr;
}

int main(int argc, char **argv) {
  static char request[1 << 18];
  static const char kText[] = "700000000 10000 served_name\n";
  char options[128];
  if (argc < 4) return 2;
  owner = (unsigned)atoi(argv[2]);
  const int silent = strcmp(argv[3], "lookup") == 0 ? FUSE_LOOKUP : strcmp(argv[3], "read") == 0 ? FUSE_READ : FUSE_FLUSH;
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return 77;
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", device, owner, owner);
  if (mount("silent", argv[1], "fuse.silent", MS_NOSUID | MS_NODEV, options) != 0) return 77;
  if (setgid(owner) != 0 || setuid(owner) != 0) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("mounted");
  int looked_up = 0;
  for (;;) {
    const ssize_t size = read(device, request, sizeof request);
    if (size < (ssize_t)sizeof(struct fuse_in_header)) return 0;
    const struct fuse_in_header *in = (const struct fuse_in_header *)request;
    // The first look is the mount's that leads here.
    if ((int)in->opcode == silent && (silent != FUSE_LOOKUP || looked_up++)) continue;
    struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 65536, .max_readahead = 65536};
    struct fuse_attr_out attr = {.attr = attributes(in->nodeid)};
    struct fuse_entry_out entry = {.nodeid = 2, .attr = attributes(2)};
    struct fuse_open_out opened = {.fh = 1};
    struct fuse_statfs_out fs = {.st = {.bsize = 4096, .namelen = 255}};
    switch (in->opcode) {
      case FUSE_INIT: answer(in->unique, 0, &init, sizeof init); break;
      case FUSE_GETATTR: answer(in->unique, 0, &attr, sizeof attr); break;
      case FUSE_LOOKUP: answer(in->unique, 0, &entry, sizeof entry); break;
      case FUSE_OPEN:
      case FUSE_OPENDIR: answer(in->unique, 0, &opened, sizeof opened); break;
      case FUSE_STATFS: answer(in->unique, 0, &fs, sizeof fs); break;
      case FUSE_READ: answer(in->unique, 0, kText, ((const struct fuse_read_in *)(in + 1))->offset == 0 ? sizeof kText - 1 : 0); break;
      case FUSE_FLUSH:
      case FUSE_RELEASE:
      case FUSE_ACCESS: answer(in->unique, 0, NULL, 0); break;
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT: break;
      default: answer(in->unique, 38, NULL, 0);
    }
  }
}
