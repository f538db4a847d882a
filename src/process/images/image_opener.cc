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
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "process/images/file_opener.h"
#include "process/images/mount_roots.h"
#include "process/procfs/maps_file.h"
#include "process/procfs/proc_fs.h"
#include "process/procfs/proc_readers.h"

namespace cicada::process {

namespace {

constexpr uint32_t kBtrfsMagic = 0x9123683e;
constexpr uint32_t kOverlayMagic = 0x794c7630;
constexpr uint32_t kFuseMagic = 0x65735546;
constexpr auto kHeaderTime = std::chrono::milliseconds(1500);
constexpr auto kCopyLifetime = std::chrono::seconds(1);
constexpr uint64_t kMaxCopiesKept = 32 << 20;  // bytes
constexpr auto kLeastCopyTime = std::chrono::seconds(2);
constexpr uint64_t kSlowestCopy = 16 << 10;  // bytes a millisecond

// Anew, with a position of its own; `fd` may be a handle.
Result<UniqueFd> open_anew(int fd, const std::string& name) {
  UniqueFd readable(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable) return errno_error(errno, fmt::format("open {}", name));
  return readable;
}

// Ways to files that may not answer.
struct Files {
  explicit Files(const ImageOpener::Options& options)
      : readers(options.readers ? options.readers : std::make_shared<ProcReaders>(ProcReaders::Options{})),
        opener(readers, options.timeout) {}
  Result<MapsFile> read_maps(uint32_t owner, Pid pid, const std::stop_token& stop) const {
    return std::move(readers->read_maps(owner, std::span(&pid, 1), stop).front());
  }
  const std::shared_ptr<ProcReaders> readers;
  FileOpener opener;
};

// Does the process map this very file at that place now?
bool maps_file_at(const ImageHint& hint, uint32_t owner, const FileIdentity& file, const Files& files, const std::stop_token& stop) {
  const auto maps = files.read_maps(owner, hint.pid, stop);
  if (!maps) return false;
  return std::any_of(maps->entries.begin(), maps->entries.end(), [&](const MapsEntry& entry) {
    return entry.range.begin == hint.range.begin && entry.file.same_inode(file);
  });
}

struct Found {
  OpenedImage image;  // without its descriptor
  OpenedFile file;
};

Result<Found> take(OpenedFile file, const ImageJob& job, bool inode_proven, const std::stop_token& stop) {
  OpenedImage image;
  const FileFacts& facts = file.facts();
  image.contents = facts.contents;
  image.owner = facts.owner;
  image.path_matters = facts.magic == kBtrfsMagic || facts.magic == kOverlayMagic;
  image.remote = file.is_distant();
  if (facts.magic == kFuseMagic && image.owner == 0) image.owner = kNobody;  // its server is somebody's program, and says what it likes
  const auto end = std::chrono::steady_clock::now() + kHeaderTime;
  const auto read_in_time = [&](uint64_t offset, std::span<uint8_t> to) -> Result<size_t> {
    if (file.is_distant() && std::chrono::steady_clock::now() > end) return make_error(ErrorKind::kIo, "its file system is too slow");
    return file.read(offset, to, stop);
  };
  if (auto header = elf::read_image_header(read_in_time)) {
    image.header = *std::move(header);
  } else if (header.error().kind() == ErrorKind::kCorrupt || header.error().kind() == ErrorKind::kLimit) {
    diagnostics().warn(job.path, "{}", header.error().message());
  } else if (header.error().kind() != ErrorKind::kUnsupported) {
    return header.error().within(job.path);
  }
  const bool same_build = image.header && !job.build_id.empty() && image.header->build_id == job.build_id;
  if (!inode_proven && !same_build) return make_error(ErrorKind::kGone, "{}: replaced by another file", job.path);
  return Found{std::move(image), std::move(file)};
}

// Its contents in memory, to read, so that a reader waits for no file system. Fails: kLimit, what the file system says.
Result<UniqueFd> copy_of(OpenedFile& file, const std::string& path, const std::stop_token& stop) {
  const uint64_t size = file.facts().contents.size;
  if (size > ImageOpener::kMaxCopyBytes)
    return make_error(ErrorKind::kLimit, "{}: larger than 256 MiB, on a file system that may not answer", path);
  UniqueFd copy(::memfd_create("image", MFD_CLOEXEC));
  if (!copy) return errno_error(errno, fmt::format("copy {}", path));
  std::vector<uint8_t> chunk(std::min<uint64_t>(size, 256 << 10));
  const auto end = std::chrono::steady_clock::now() + kLeastCopyTime + std::chrono::milliseconds(size / kSlowestCopy);
  for (uint64_t at = 0; at < size;) {
    const size_t got = TRY(file.read(at, std::span(chunk).first(std::min<uint64_t>(chunk.size(), size - at)), stop));
    if (got == 0) break;
    if (::pwrite(copy.get(), chunk.data(), got, static_cast<off_t>(at)) != static_cast<ssize_t>(got))
      return errno_error(errno, fmt::format("copy {}", path));
    at += got;
    if (std::chrono::steady_clock::now() > end) return make_error(ErrorKind::kLimit, "{}: its file system is too slow", path);
  }
  return open_anew(copy.get(), path);
}

bool is_file(const OpenedFile& opened, const FileIdentity& file) { return opened.facts().identity.same_inode(file); }

Result<Found> find_image(const ImageJob& job, Files& files, const std::stop_token& stop) {
  Error last = make_error(ErrorKind::kGone, "{}: no process maps it any more", job.path);
  for (const ImageHint& hint : job.hints) {
    const Tid owner = thread_with_memory(hint.pid);
    const auto open_at = [&](Range<RuntimeAddr> range) {
      return files.opener.open(job.owner, job.file, fmt::format("/proc/{}/map_files/{:x}-{:x}", owner, range.begin.value, range.end.value), stop);
    };
    auto file = open_at(hint.range);
    // The range may have been split or merged since; ask maps for the mapping that begins there.
    if (!file && file.error().kind() == ErrorKind::kNotFound) {
      const auto maps = files.read_maps(job.owner, hint.pid, stop);
      if (maps) {
        for (const MapsEntry& entry : maps->entries) {
          if (entry.range.contains(hint.range.begin) && entry.file.same_inode(job.file)) file = open_at(entry.range);
        }
      }
    }
    if (!file) {
      last = file.error();
      if (last.kind() == ErrorKind::kUnsupported) return last;
      continue;
    }
    // Something else may be mapped there by now: the numbers decide, the file's where it tells the same ones, else maps'.
    const bool proven = is_file(*file, job.file) || maps_file_at(hint, job.owner, job.file, files, stop);
    auto found = take(*std::move(file), job, proven, stop);
    if (found) return found;
    last = found.error();
  }
  if (job.deleted || !job.path.starts_with('/') || last.kind() == ErrorKind::kIo) return last;
  std::vector<std::string> paths{job.path};
  for (const ImageHint& hint : job.hints) paths.push_back(fmt::format("/proc/{}/root{}", hint.pid, job.path));
  for (const std::string& path : paths) {
    auto file = files.opener.open_by_name(job.owner, path, stop);
    if (!file) continue;
    const bool proven = is_file(*file, job.file);
    auto found = take(*std::move(file), job, proven, stop);
    if (found) return found;
    last = found.error();
  }
  return last;
}

Result<OpenedImage> open_image(const ImageJob& job, Files& files, const std::stop_token& stop) {
  Found found = TRY(find_image(job, files, stop));
  found.image.fd = found.file.release_fd();
  return std::move(found.image);
}

// A descriptor keeps the inode, not what is in it: written over in place, it would give the names of another program.
Result<Found> find_again(const ImageJob& job, const UniqueFd& held, Files& files, const std::stop_token& stop) {
  if (!held) return find_image(job, files, stop);
  OpenedFile file = TRY(files.opener.open_handle(job.owner, held.get(), job.path, stop));
  if (file.facts().contents != job.contents) return take(std::move(file), job, true, stop);
  OpenedImage same;
  same.contents = job.contents;
  return Found{std::move(same), std::move(file)};
}

Result<ImageOpener::Reread> reread_image(const ImageJob& job, const UniqueFd& held, Files& files, const std::stop_token& stop) {
  ImageOpener::Reread reread;
  Found found = TRY(find_again(job, held, files, stop));
  if (!held || found.image.contents != job.contents) {
    if (!is_same_image(job, found.image)) return make_error(ErrorKind::kGone, "{}: written over or replaced since it was mapped", job.path);
    reread.image = std::move(found.image);
  }
  reread.fd = TRY(found.file.is_distant() ? copy_of(found.file, job.path, stop) : open_anew(found.file.fd(), job.path));
  if (reread.image) reread.image->fd = found.file.release_fd();
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
  explicit Shared(const Options& options) : max_untaken(options.max_untaken), files(options) {}

  struct Copy {
    FileContents contents;
    UniqueFd fd;
    std::chrono::steady_clock::time_point made;
  };

  const size_t max_untaken;
  Files files;
  MountRoots roots;
  UniqueFd ready{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  std::vector<Outcome> outcomes;
  std::map<uint32_t, size_t> untaken;  // open files among them, by owner
  size_t all_untaken = 0;
  std::map<uint32_t, Copy> copies;  // of distant files, by image: whoever reads one asks again soon
  std::set<uint32_t> copying;       // owners of whom a distant file is being read
  std::condition_variable_any copied;

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
  // Not open: there is none any more.
  UniqueFd find_copy(const ImageJob& job) {
    const std::lock_guard lock(mutex);
    forget_copies();
    const auto at = copies.find(job.id);
    if (at == copies.end() || at->second.contents != job.contents) return {};
    auto copy = open_anew(at->second.fd.get(), job.path);
    return copy ? *std::move(copy) : UniqueFd();
  }
  void keep_copy(const ImageJob& job, int fd) {
    const std::lock_guard lock(mutex);
    forget_copies();
    uint64_t bytes = job.contents.size;
    for (const auto& [id, copy] : copies) bytes += copy.contents.size;
    UniqueFd kept(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (kept && bytes <= kMaxCopiesKept)
      copies.insert_or_assign(job.id, Copy{job.contents, std::move(kept), std::chrono::steady_clock::now()});
  }
  void forget_copies() {
    std::erase_if(copies, [now = std::chrono::steady_clock::now()](const auto& entry) { return now - entry.second.made > kCopyLifetime; });
  }
  // Returns what the owner's one place is left to; nothing: `stop` was first.
  std::shared_ptr<void> wait_for_turn(uint32_t owner, const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    if (!copied.wait(lock, stop, [&] { return !copying.contains(owner); })) return nullptr;
    copying.insert(owner);
    return {this, [owner](Shared* shared) {
              const std::lock_guard again(shared->mutex);
              shared->copying.erase(owner);
              shared->copied.notify_all();
            }};
  }
};

ImageOpener::ImageOpener(const Options& options)
    : shared_(std::make_unique<Shared>(options)),
      queue_({.thread_name = "cicada-images", .workers = options.workers, .max_bytes = kMaxQueued * WorkQueue::kJobBytes}) {}

ImageOpener::~ImageOpener() = default;

void ImageOpener::request(const ImageJob& job) {
  const auto run = [this, job](WorkQueue::Attempt& attempt) {
    auto opened = open_image(job, shared_->files, attempt.stop_token());
    if (opened) shared_->find_root(job, *opened);
    shared_->publish(job.id, std::move(opened));
  };
  const auto give_up = [this, id = job.id](const Error& why) { shared_->publish(id, why); };
  if (queue_.submit({.owner = job.owner, .run = run, .give_up = give_up}) == 0)
    give_up(make_error(ErrorKind::kLimit, "too many files wait to be opened"));
}

std::vector<ImageOpener::Outcome> ImageOpener::take_opened() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(shared_->ready.get(), &count, sizeof count);
  const std::lock_guard lock(shared_->mutex);
  shared_->untaken.clear();
  shared_->all_untaken = 0;
  return std::exchange(shared_->outcomes, {});
}

int ImageOpener::ready_fd() const { return shared_->ready.get(); }

Result<ImageOpener::Reread> ImageOpener::reread(const ImageJob& job, const UniqueFd& held, bool remote, const std::stop_token& stop) {
  if (!remote) return reread_image(job, held, shared_->files, stop);
  const auto turn = shared_->wait_for_turn(job.owner, stop);
  if (turn == nullptr) return make_error(ErrorKind::kIo, "not read before the end");
  if (Reread kept{shared_->find_copy(job), {}}; kept.fd) return kept;
  Reread reread = TRY(reread_image(job, held, shared_->files, stop));
  if (!reread.image) shared_->keep_copy(job, reread.fd.get());
  return reread;
}

}  // namespace cicada::process
