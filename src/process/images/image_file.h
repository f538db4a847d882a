// SPDX-License-Identifier: Apache-2.0
// Opens the file behind a mapping: the very inode, whatever the mount namespace and its name's fate (image_registry.h says how).
// May block as long as the file system does: for workers. Threads: any.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/elf_file.h"
#include "process/images/file_identity.h"
#include "process/images/file_systems.h"

namespace cicada::process {

// What tells two contents of one inode apart.
struct FileContents {
  int64_t modified_s = 0, modified_ns = 0;
  uint64_t size = 0;
  auto operator<=>(const FileContents&) const = default;
};

// Asks no server. Nothing: fstat's errors.
std::optional<FileContents> contents_of(int fd);

// A place where a process maps the file.
struct ImageHint {
  Pid pid = 0;
  Range<RuntimeAddr> range;
};

struct ImageJob {
  uint32_t id = 0;
  FileIdentity file;
  std::string path;
  bool deleted = false;
  std::vector<ImageHint> hints;
  std::string build_id;  // known from an earlier opening; else empty
};

struct OpenedImage {
  UniqueFd fd;  // if may_hang, only a handle (O_PATH)
  std::shared_ptr<const UniqueFd> root;
  std::shared_ptr<const elf::ElfFile> elf;  // null: not an ELF this program reads
  FileContents contents;
  bool path_matters = false;
  bool may_hang = false;  // another program or machine answers for the file system
};

// Is it still the build that the job was opened as? False: another one, or none is named.
bool holds_build(int fd, const ImageJob& job);

// Its contents in memory, so that a reader waits for no file system. `progress` grows while it answers.
// Fails: kLimit (more than 256 MiB), what the file system says.
Result<UniqueFd> copy_of(int fd, const std::string& path, std::atomic<uint64_t>& progress);

// Fails: kGone (no process maps it any more, or another file has its name), kUnsupported (no regular file), what the file system says,
// or that it says nothing.
Result<OpenedImage> open_image(const ImageJob& job, FileSystems& file_systems);

}  // namespace cicada::process
