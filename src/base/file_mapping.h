// SPDX-License-Identifier: Apache-2.0
// A regular file, read-only, as bytes. Owns the mapping; the descriptor may be closed after.
//
// The file may be truncated by its owner while it is mapped, and a read past the new end is a SIGBUS. cicada reads files of
// strangers, so files up to kCopyLimit are copied with pread instead of mapped, and SigbusGuard (below) turns the signal
// into zero pages for the larger ones. Its holes take a MiB together.
// Fails: not a regular file (FIFO, device), larger than kMaxBytes, kLimit (more than kMaxPieces holes), or the operating system's error.
#pragma once
#include <cstddef>
#include <string>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada {

class FileMapping {
 public:
  static constexpr uint64_t kCopyLimit = 64 << 10;
  static constexpr uint64_t kMaxBytes = uint64_t{16} << 30;
  static constexpr uint64_t kLeastHole = 64 << 10;  // smaller ones are read like everything else
  static constexpr int kMaxPieces = 4096;

  // Opens as open_regular() does, then maps.
  static Result<FileMapping> open(const std::string& path);
  // `name` is what errors call the file.
  static Result<FileMapping> map(int fd, const std::string& name);
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();

  Bytes bytes() const { return bytes_; }
  // Gives the pages read so far back to the kernel; they come again when touched. For files that are kept but rarely read.
  void drop_pages() const;

 private:
  FileMapping() = default;
  Bytes bytes_;
  bool mapped_ = false;  // else new[]
};

// How much of a file exists: its size, or what its file system has allocated for it if that is less. What reading a stranger's file may
// cost is granted by this; a size costs nothing to claim.
uint64_t existing_bytes(int fd);

// Opens a path that a stranger may have prepared, which must be a regular file: a FIFO or a device is looked at, but never opened (that
// alone may wait, or do things).
Result<UniqueFd> open_regular(const std::string& path);
// The same for a handle to it (O_PATH).
Result<UniqueFd> reopen_regular(const UniqueFd& handle, const std::string& path);

}  // namespace cicada
