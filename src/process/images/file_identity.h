// SPDX-License-Identifier: Apache-2.0
// Which file a mapping maps, as the kernel shows it in /proc/PID/maps and in MMAP2 records.
//
// Compare these numbers only with each other: on overlayfs and btrfs they differ from what fstat() says of the same file.
#pragma once
#include <compare>
#include <cstdint>

namespace cicada::process {

struct FileIdentity {
  uint32_t major = 0, minor = 0;
  uint64_t inode = 0;
  uint64_t generation = 0;  // i_generation; 0: not told (/proc/PID/maps never tells)

  bool anonymous() const { return major == 0 && minor == 0 && inode == 0; }
  // Same inode number on the same device; says nothing about generations.
  bool same_inode(const FileIdentity& other) const {
    return major == other.major && minor == other.minor && inode == other.inode;
  }
  auto operator<=>(const FileIdentity&) const = default;
};

// What tells two contents of one inode apart.
struct FileContents {
  int64_t modified_s = 0, modified_ns = 0;
  uint64_t size = 0;
  auto operator<=>(const FileContents&) const = default;
};

}  // namespace cicada::process
