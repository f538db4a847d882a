// SPDX-License-Identifier: Apache-2.0
#include "process/images/image_opener.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <future>
#include <map>
#include <mutex>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "process/images/file_system_probe.h"
#include "process/images/mount_roots.h"
#include "process/procfs/maps_file.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {

namespace {

constexpr uint32_t kBtrfsMagic = 0x9123683e;
constexpr uint32_t kOverlayMagic = 0x794c7630;
constexpr uint32_t kFuseMagic = 0x65735546;
constexpr auto kStopTimeout = std::chrono::milliseconds(500);

std::string path_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// Anew, with a position of its own; `fd` may be a handle.
Result<UniqueFd> open_anew(int fd, const std::string& name) {
  UniqueFd readable(::open(path_of(fd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable) return errno_error(errno, fmt::format("open {}", name));
  return readable;
}

bool same_inode(int fd, const FileIdentity& file) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 && major(st.st_dev) == file.major && minor(st.st_dev) == file.minor && st.st_ino == file.inode;
}

// O_PATH first: opening a FIFO or a device for reading may block or do things. Nothing is opened that is not a regular file.
Result<UniqueFd> open_safely(const std::string& path, const FileIdentity& file, FileSystemProbe& file_systems) {
  TRY(file_systems.ask(file, path));
  const UniqueFd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!handle) return errno_error(errno, fmt::format("open {}", path));
  struct stat st {};
  if (::fstat(handle.get(), &st) != 0) return errno_error(errno, fmt::format("stat {}", path));
  if (!S_ISREG(st.st_mode)) return make_error(ErrorKind::kUnsupported, "{}: not a regular file", path);
  return open_regular(path_of(handle.get()));
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
  struct stat st {};
  if (::fstat(fd.get(), &st) == 0) opened.owner = st.st_uid;
  struct statfs fs {};
  if (::fstatfs(fd.get(), &fs) == 0) {
    const auto magic = static_cast<uint32_t>(fs.f_type);
    opened.path_matters = magic == kBtrfsMagic || magic == kOverlayMagic;
    opened.remote = is_answered_by_others(magic);
    if (magic == kFuseMagic && opened.owner == 0) opened.owner = kNobody;  // its server is somebody's program, and says what it likes
  }
  if (auto header = elf::read_image_header(fd.get())) {
    opened.header = *std::move(header);
  } else if (header.error().kind() == ErrorKind::kCorrupt || header.error().kind() == ErrorKind::kLimit) {
    diagnostics().warn(job.path, "{}", header.error().message());
  } else if (header.error().kind() != ErrorKind::kUnsupported) {
    return header.error().within(job.path);
  }
  const bool same_build = opened.header && !job.build_id.empty() && opened.header->build_id == job.build_id;
  if (!inode_proven && !same_build) return make_error(ErrorKind::kGone, "{}: replaced by another file", job.path);
  // close() of a readable descriptor asks FUSE, even at the end of the process: an O_PATH one can be let go of without an answer.
  opened.fd = opened.remote ? UniqueFd(::open(path_of(fd.get()).c_str(), O_PATH | O_CLOEXEC)) : std::move(fd);
  return opened;
}

// Its contents in memory, so that a reader waits for no file system. Fails: kLimit, what the file system says.
Result<UniqueFd> copy_of(int fd, const std::string& path, const std::function<void()>& progress) {
  UniqueFd copy(::memfd_create("image", MFD_CLOEXEC));
  if (!copy) return errno_error(errno, fmt::format("copy {}", path));
  std::vector<uint8_t> chunk(256 << 10);
  for (uint64_t at = 0; at < ImageOpener::kMaxCopyBytes;) {
    const ssize_t got = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, fmt::format("read {}", path));
    if (got == 0) return copy;
    if (::pwrite(copy.get(), chunk.data(), static_cast<size_t>(got), static_cast<off_t>(at)) != got) return errno_error(errno, fmt::format("copy {}", path));
    at += static_cast<uint64_t>(got);
    progress();
  }
  return make_error(ErrorKind::kLimit, "{}: larger than 256 MiB, on a file system that may not answer", path);
}

Result<OpenedImage> open_image(const ImageJob& job, FileSystemProbe& file_systems) {
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

// `progress`: of a remote file.
Result<ImageOpener::Reread> reread_image(const ImageJob& job, UniqueFd held, FileSystemProbe& file_systems, RemoteFile how,
                                         const std::function<void()>& progress) {
  ImageOpener::Reread reread;
  if (held && progress) TRY(file_systems.ask(job.file, fmt::format("/proc/{}/fd/{}", ::getpid(), held.get())));
  // A descriptor keeps the inode, not what is in it: written over in place, it would give the names of another program.
  const auto now = held ? contents_of(held.get()) : std::nullopt;
  if (!held || (now && *now != job.contents)) {
    Result<UniqueFd> readable = held ? open_anew(held.get(), job.path) : UniqueFd();
    if (!readable) return readable.error();
    reread.image = TRY(held ? take(*std::move(readable), job, true) : open_image(job, file_systems));
    if (!is_same_image(job, *reread.image)) return make_error(ErrorKind::kGone, "{}: written over or replaced since it was mapped", job.path);
  }
  reread.fd = TRY(open_anew(reread.image ? reread.image->fd.get() : held.get(), job.path));
  if (progress && how == RemoteFile::kCopy) reread.fd = TRY(copy_of(reread.fd.get(), job.path, progress));
  return reread;
}

}  // namespace

std::optional<FileContents> contents_of(int fd) {
  struct statx st {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME | STATX_SIZE, &st) != 0) return std::nullopt;
  return FileContents{st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec, st.stx_size};
}

bool is_same_image(const ImageJob& job, const OpenedImage& opened) {
  if (job.contents == FileContents{} || job.contents == opened.contents) return true;
  return opened.header && !job.build_id.empty() && opened.header->build_id == job.build_id;
}

struct ImageOpener::Shared {
  // Who asks a file system first gives up before the worker that waits for it would be.
  explicit Shared(const Options& options) : max_untaken(options.max_untaken), file_systems(options.timeout * 3 / 4) {}

  const size_t max_untaken;
  FileSystemProbe file_systems;
  MountRoots roots;
  UniqueFd ready{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  std::vector<Outcome> outcomes;
  std::map<uint32_t, size_t> untaken;  // open files among them, by owner
  size_t all_untaken = 0;

  // Where what belongs to it is looked for: in the root of a process that maps it and may say what its owner's files are called.
  void find_root(const ImageJob& job, OpenedImage& opened) {
    bool has_strangers = false;
    for (const ImageHint& hint : job.hints) {
      auto view = roots.find(hint.pid, opened.owner);
      if (!view) continue;
      has_strangers |= view->is_strangers;
      if (view->is_strangers) continue;
      opened.root = std::move(view->root);
      return;
    }
    opened.path_matters |= has_strangers;
  }
  void publish(uint32_t id, Result<OpenedImage> opened) {
    const std::lock_guard lock(mutex);
    if (opened) {
      size_t& of_owner = untaken[opened->owner];
      const bool room = all_untaken < max_untaken && (opened->owner == 0 || of_owner < max_untaken / 2);
      of_owner += room;
      all_untaken += room;
      if (!room) opened->fd.reset();
    }
    outcomes.push_back({id, std::move(opened)});
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(ready.get(), &one, sizeof one);
  }
  // Why a job on this file was given up.
  Error explain(const ImageJob& job, const Error& why) { return why.kind() == ErrorKind::kIo ? file_systems.note_silent(job.file) : why; }
};

ImageOpener::ImageOpener(const Options& options)
    : shared_(std::make_shared<Shared>(options)),
      timeout_(options.timeout),
      queue_({.thread_name = "cicada-images",
              .workers = options.workers,
              .max_bytes = kMaxQueued * WorkQueue::kJobBytes,
              .max_abandoned = options.max_abandoned,
              .stop_timeout = kStopTimeout}),
      copies_({.thread_name = "cicada-copies", .workers = options.workers, .max_abandoned = options.max_abandoned, .stop_timeout = kStopTimeout}) {}

void ImageOpener::request(const ImageJob& job) {
  const auto id = queue_.submit({.owner = job.owner,
                                 .timeout = timeout_,
                                 .run = [shared = shared_, job](WorkQueue::Attempt& attempt) {
                                   auto opened = open_image(job, shared->file_systems);
                                   if (opened) shared->find_root(job, *opened);
                                   if (attempt.commit()) shared->publish(job.id, std::move(opened));
                                 },
                                 .give_up = [shared = shared_, job](const Error& why) { shared->publish(job.id, shared->explain(job, why)); }});
  if (id == 0) shared_->publish(job.id, make_error(ErrorKind::kLimit, "too many files wait to be opened"));
}

std::vector<ImageOpener::Outcome> ImageOpener::take_opened() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(shared_->ready.get(), &count, sizeof count);
  queue_.give_up_overdue();
  const std::lock_guard lock(shared_->mutex);
  shared_->untaken.clear();
  shared_->all_untaken = 0;
  return std::exchange(shared_->outcomes, {});
}

int ImageOpener::ready_fd() const { return shared_->ready.get(); }

Result<ImageOpener::Reread> ImageOpener::reread(ImageJob job, UniqueFd held, bool remote, RemoteFile how) {
  if (!remote) return reread_image(job, std::move(held), shared_->file_systems, how, nullptr);
  struct Call {
    ImageJob job;
    UniqueFd held;
    std::promise<Result<Reread>> promise;
  };
  auto call = std::make_shared<Call>(Call{std::move(job), std::move(held), {}});
  auto outcome = call->promise.get_future();
  const auto id = copies_.submit({.owner = call->job.owner,
                                  .timeout = timeout_,
                                  .run = [call, shared = shared_, how](WorkQueue::Attempt& attempt) {
                                    auto reread = reread_image(call->job, std::move(call->held), shared->file_systems, how,
                                                               [&] { attempt.progress(); });
                                    if (attempt.commit()) call->promise.set_value(std::move(reread));
                                  },
                                  .give_up = [call, shared = shared_](const Error& why) { call->promise.set_value(shared->explain(call->job, why)); }});
  if (id == 0) return make_error(ErrorKind::kLimit, "{}: too many file systems do not answer", call->job.path);
  copies_.wait(id);
  return outcome.get();
}

}  // namespace cicada::process
