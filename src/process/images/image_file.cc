// SPDX-License-Identifier: Apache-2.0
#include "process/images/image_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "process/procfs/maps_file.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {

std::optional<FileContents> contents_of(int fd) {
  struct statx st {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME | STATX_SIZE, &st) != 0) return std::nullopt;
  return FileContents{st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec, st.stx_size};
}

namespace {

constexpr uint32_t kBtrfsMagic = 0x9123683e;
constexpr uint32_t kOverlayMagic = 0x794c7630;
constexpr uint64_t kMaxCopyBytes = 256 << 20;

bool same_inode(int fd, const FileIdentity& file) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 && major(st.st_dev) == file.major && minor(st.st_dev) == file.minor && st.st_ino == file.inode;
}

// O_PATH first: opening a FIFO or a device for reading may block or do things. Nothing is opened that is not a regular file.
Result<UniqueFd> open_safely(const std::string& path, const FileIdentity& file, FileSystems& file_systems) {
  TRY(file_systems.ask(file, path));
  const UniqueFd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!handle) return errno_error(errno, fmt::format("open {}", path));
  struct stat st {};
  if (::fstat(handle.get(), &st) != 0) return errno_error(errno, fmt::format("stat {}", path));
  if (!S_ISREG(st.st_mode)) return make_error(ErrorKind::kUnsupported, "{}: not a regular file", path);
  return open_regular(fmt::format("/proc/self/fd/{}", handle.get()));
}

// Does the process map this very file at that place now?
bool maps_file_at(const ImageHint& hint, const FileIdentity& file) {
  const auto maps = read_maps(hint.pid, MapsFilter::kExecutable);
  if (!maps) return false;
  return std::any_of(maps->entries.begin(), maps->entries.end(), [&](const MapsEntry& entry) {
    return entry.range.begin == hint.range.begin && entry.file.same_inode(file);
  });
}

Result<OpenedImage> take(UniqueFd fd, const ImageJob& job, bool inode_proven) {
  OpenedImage opened;
  const auto contents = contents_of(fd.get());
  if (!contents) return errno_error(errno, fmt::format("stat {}", job.path));
  opened.contents = *contents;
  struct statfs fs {};
  if (::fstatfs(fd.get(), &fs) == 0) {
    const auto magic = static_cast<uint32_t>(fs.f_type);
    opened.path_matters = magic == kBtrfsMagic || magic == kOverlayMagic;
    opened.may_hang = is_answered_by_others(magic);
  }
  auto file = FileMapping::map(fd.get(), job.path);
  if (!file) return file.error();
  auto elf = elf::ElfFile::parse(*std::move(file), job.path);
  if (elf) {
    opened.elf = std::make_shared<const elf::ElfFile>(*std::move(elf));
  } else if (elf.error().kind() == ErrorKind::kCorrupt) {
    diagnostics().warn(job.path, "{}", elf.error().message());
  }
  const bool same_build = opened.elf != nullptr && !job.build_id.empty() && opened.elf->build_id() == job.build_id;
  if (!inode_proven && !same_build) return make_error(ErrorKind::kGone, "{}: replaced by another file", job.path);
  // close() of a readable descriptor asks FUSE, even at the end of the process: an O_PATH one can be let go of without an answer.
  opened.fd = opened.may_hang ? UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), O_PATH | O_CLOEXEC)) : std::move(fd);
  return opened;
}

}  // namespace

Result<UniqueFd> copy_of(int fd, const std::string& path, std::atomic<uint64_t>& progress) {
  UniqueFd copy(::memfd_create("image", MFD_CLOEXEC));
  if (!copy) return errno_error(errno, fmt::format("copy {}", path));
  std::vector<uint8_t> chunk(256 << 10);
  for (uint64_t at = 0; at < kMaxCopyBytes;) {
    const ssize_t got = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, fmt::format("read {}", path));
    if (got == 0) return copy;
    if (::pwrite(copy.get(), chunk.data(), static_cast<size_t>(got), static_cast<off_t>(at)) != got) return errno_error(errno, fmt::format("copy {}", path));
    at += static_cast<uint64_t>(got);
    progress.fetch_add(1, std::memory_order_relaxed);
  }
  return make_error(ErrorKind::kLimit, "{}: larger than 256 MiB, on a file system that may not answer", path);
}

bool holds_build(int fd, const ImageJob& job) {
  const UniqueFd readable(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));  // it may be an O_PATH one
  auto file = FileMapping::map(readable.get(), job.path);
  if (!file || job.build_id.empty()) return false;
  const auto elf = elf::ElfFile::parse(*std::move(file), job.path);
  return elf && elf->build_id() == job.build_id;
}

Result<OpenedImage> open_image(const ImageJob& job, FileSystems& file_systems) {
  Error last = make_error(ErrorKind::kGone, "{}: no process maps it any more", job.path);
  for (const ImageHint& hint : job.hints) {
    const Tid owner = thread_with_memory(hint.pid);
    auto fd = open_safely(fmt::format("/proc/{}/map_files/{:x}-{:x}", owner, hint.range.begin.value, hint.range.end.value), job.file,
                          file_systems);
    // The range may have been split or merged since; ask maps for the mapping that begins there.
    if (!fd && fd.error().kind() == ErrorKind::kNotFound) {
      const auto maps = read_maps(hint.pid, MapsFilter::kExecutable);
      if (maps) {
        for (const MapsEntry& entry : maps->entries) {
          if (!entry.range.contains(hint.range.begin) || !entry.file.same_inode(job.file)) continue;
          fd = open_safely(fmt::format("/proc/{}/map_files/{:x}-{:x}", owner, entry.range.begin.value, entry.range.end.value), job.file,
                           file_systems);
        }
      }
    }
    if (!fd) {
      last = fd.error();
      if (last.kind() == ErrorKind::kUnsupported) return last;
      continue;
    }
    // Something else may be mapped there by now: the numbers decide, fstat's where it tells the same ones, else maps'.
    const bool proven = same_inode(fd->get(), job.file) || maps_file_at(hint, job.file);
    auto opened = take(*std::move(fd), job, proven);
    if (opened) return opened;
    last = opened.error();
  }
  if (job.deleted || !job.path.starts_with('/')) return last;
  std::vector<std::string> paths{job.path};
  for (const ImageHint& hint : job.hints) paths.push_back(fmt::format("/proc/{}/root{}", hint.pid, job.path));
  for (const std::string& path : paths) {
    auto fd = open_safely(path, job.file, file_systems);
    if (!fd) continue;
    const bool proven = same_inode(fd->get(), job.file);
    auto opened = take(*std::move(fd), job, proven);
    if (opened) return opened;
    last = opened.error();
  }
  return last;
}

}  // namespace cicada::process
