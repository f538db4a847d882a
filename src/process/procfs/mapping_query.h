// SPDX-License-Identifier: Apache-2.0
// The executable mappings of a process as lines of /proc/PID/maps, of which the kernel is asked for them alone (PROCMAP_QUERY, Linux 6.11):
// the file itself has a name for every mapping, and 60,000 names cost the kernel a quarter of a second. Older kernels' is read as it is.
// Source: include/uapi/linux/fs.h. Threads: one at a time. System calls only: a child may read.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>

namespace cicada::process {

class MappingLines {
 public:
  static constexpr size_t kLeast = 20 << 10;  // bytes to read into: a line, each character of its name escaped

  // An open /proc/PID/maps. Borrowed.
  explicit MappingLines(int maps_fd) : maps_fd_(maps_fd) {}
  // The next lines; of older kernels the last may be cut. 0: no more, or no memory any more. < 0: errno says why.
  ssize_t read(std::span<char> to);

 private:
  ssize_t query(std::span<char> to);

  int maps_fd_;
  bool queries_ = true;
  uint64_t from_ = 0;
};

}  // namespace cicada::process
