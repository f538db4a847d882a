// SPDX-License-Identifier: Apache-2.0
#include "process/images/file_opener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "elf/image_header.h"
#include "process/procfs/proc_fs.h"
#include "process/procfs/proc_readers.h"

namespace cicada::process {
namespace {

constexpr size_t kMaxMountBytes = 4 << 20;  // 20,000 mounts

Error no_answer() { return make_error(ErrorKind::kIo, "its file system does not answer"); }
Error stopped() { return make_error(ErrorKind::kIo, "not read before the end"); }

// "/proc/self/fd/N", without memory or locks.
class DescriptorPath {
 public:
  explicit DescriptorPath(int fd) {
    constexpr std::string_view kFolder = "/proc/self/fd/";
    std::memcpy(text_.data(), kFolder.data(), kFolder.size());
    std::to_chars(text_.data() + kFolder.size(), text_.data() + text_.size() - 1, fd);
  }
  const char* c_str() const { return text_.data(); }

 private:
  std::array<char, 32> text_{};
};

int open_readable(int handle) { return ::open(DescriptorPath(handle).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); }

// Asks no file system. Nothing: there is no such descriptor.
std::optional<FileOpener::Device> device_of(int handle) {
  struct statx st {};
  if (::statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) != 0) return std::nullopt;
  return FileOpener::Device(st.stx_dev_major, st.stx_dev_minor);
}

// False: errno says why.
bool read_facts(int fd, FileFacts& facts) {
  struct statfs fs {};
  struct statx st {};
  if (::fstatfs(fd, &fs) != 0 ||
      ::statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE | STATX_UID | STATX_INO | STATX_MTIME | STATX_SIZE, &st) != 0)
    return false;
  facts.magic = static_cast<uint32_t>(fs.f_type);
  facts.mode = st.stx_mode;
  facts.owner = st.stx_uid;
  facts.identity = {st.stx_dev_major, st.stx_dev_minor, st.stx_ino, 0};
  facts.contents = {st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec, st.stx_size};
  return true;
}

bool is_distant(const FileFacts& facts) { return is_answered_by_others(facts.magic) || facts.disk_of_others; }

// It has what is below it answer, which may be anybody's: everyone can mount one in a user namespace of his own.
bool is_overlay(const FileFacts& facts) { return facts.magic == OVERLAYFS_SUPER_MAGIC; }

// A container engine's is, and nobody but root mounts where we see it.
bool is_mounted_here(const FileFacts& facts) {
  const auto mounts = read_proc_file("/proc/self/mountinfo", kMaxMountBytes);
  return mounts && has_mount(*mounts, "overlay", facts.identity.major, facts.identity.minor);
}

// What a child finds out, in memory that both have.
struct Shared {
  FileFacts facts;
  std::array<uint8_t, 256 << 10> bytes;
};
struct Unmap {
  void operator()(Shared* shared) const { ::munmap(shared, sizeof *shared); }
};
using SharedMemory = std::unique_ptr<Shared, Unmap>;

// The child. Says its error and the handle, then answers offsets with the bytes that are there.
void serve(ChildEnd end, Shared& shared, int handle, const char* path) {
  ChildAnswer answer;
  if (path != nullptr) handle = ::open(path, O_PATH | O_CLOEXEC);
  int file = -1;
  if (handle < 0 || !read_facts(handle, shared.facts)) {
    answer.error = errno;
  } else {
    shared.facts.disk_of_others = is_disk_of_others(shared.facts.identity.major, shared.facts.identity.minor);
    if (S_ISREG(shared.facts.mode) && (is_distant(shared.facts) || is_overlay(shared.facts))) {
      file = open_readable(handle);
      if (file < 0 || !read_facts(file, shared.facts)) answer.error = errno;
    }
  }
  answer.fd = handle;
  end.say(answer);
  for (uint64_t offset = 0; file >= 0 && end.hear(offset);) {
    const ssize_t got = ::pread(file, shared.bytes.data(), shared.bytes.size(), static_cast<off_t>(offset));
    answer = {};
    if (got >= 0)
      answer.number = static_cast<uint64_t>(got);
    else if (errno != EINVAL)
      answer.error = errno;  // EINVAL: an offset that no file has
    end.say(answer);
  }
}

}  // namespace

// FUSE, NFS, SMB (three versions), 9P, Ceph, AFS, Coda, Lustre.
bool is_answered_by_others(uint32_t magic) {
  constexpr std::array<uint32_t, 10> kMagics{FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42,       0xfe534d42,
                                             V9FS_MAGIC,       0x00c36400,      AFS_SUPER_MAGIC, CODA_SUPER_MAGIC, 0x0bd00bd0};
  return std::find(kMagics.begin(), kMagics.end(), magic) != kMagics.end();
}

// The file of a loop device may have a name that leads nowhere here, or to another file: then nobody knows whose it is. `depth`: of disks in files of disks.
static bool is_disk_of_others(uint32_t major, uint32_t minor, int depth) {
  if (depth == 0) return true;
  if (major != LOOP_MAJOR && major != BLOCK_EXT_MAJOR) return major == NBD_MAJOR;
  for (const char* disk : {"", "/.."}) {  // of a partition
    std::array<char, 4097> text{};
    std::snprintf(text.data(), text.size(), "/sys/dev/block/%u:%u%s/loop/backing_file", major, minor, disk);
    const UniqueFd name(::open(text.data(), O_RDONLY | O_CLOEXEC));
    if (!name) continue;
    const ssize_t got = ::read(name.get(), text.data(), text.size() - 1);
    if (got <= 1) return true;
    text[static_cast<size_t>(got) - 1] = '\0';  // its newline
    if (std::string_view(text.data()).ends_with(" (deleted)")) return true;
    struct statfs fs {};
    struct stat st {};
    if (::statfs(text.data(), &fs) != 0 || ::stat(text.data(), &st) != 0) return true;
    const auto magic = static_cast<uint32_t>(fs.f_type);
    const dev_t below = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
    return is_answered_by_others(magic) || magic == OVERLAYFS_SUPER_MAGIC || is_disk_of_others(gnu_dev_major(below), gnu_dev_minor(below), depth - 1);
  }
  return major == LOOP_MAJOR;
}

bool is_disk_of_others(uint32_t major, uint32_t minor) { return is_disk_of_others(major, minor, 4); }

struct OpenedFile::Distant {
  FileOpener& opener;
  FileOpener::Device device;
  SharedMemory shared;
  DisposableChildren::Conversation child;
};

void OpenedFile::Deleter::operator()(Distant* distant) const { delete distant; }

Result<size_t> OpenedFile::read(uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop) {
  if (!is_distant()) return elf::by_pread(fd_.get())(offset, to);
  const auto answer = TRY(distant_->child.ask(offset, stop));
  if (!answer && stop.stop_requested()) return stopped();
  if (!answer) return distant_->opener.note_silent(distant_->device);
  if (answer->error != 0) return errno_error(answer->error, "read");
  const size_t size = std::min({to.size(), static_cast<size_t>(answer->number), distant_->shared->bytes.size()});
  std::memcpy(to.data(), distant_->shared->bytes.data(), size);
  return size;
}

std::optional<FileOpener::Kind> FileOpener::known(Device device) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& entry) { return now - entry.second.since >= cache_lifetime_; });
  const auto at = known_.find(device);
  return at == known_.end() ? std::nullopt : std::optional(at->second.kind);
}

// Programs that have just run are found so.
UniqueFd FileOpener::open_on_known(const std::string& path) {
  struct open_how how {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  UniqueFd handle(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  const auto device = handle ? device_of(handle.get()) : std::nullopt;
  return device && known(*device) == Kind::kLocal ? std::move(handle) : UniqueFd();
}

// O_PATH first: opening a FIFO or a device for reading may block or do things. Nothing is opened that is not a regular file.
Result<OpenedFile> FileOpener::open(uint32_t owner, const FileIdentity& file, const std::string& path, const std::stop_token& stop) {
  if (known({file.major, file.minor}) == Kind::kSilent) return no_answer();
  const UniqueFd handle = TRY(readers_->open_handle(owner, path, stop));
  return open_handle(owner, handle.get(), path, stop);
}

Result<OpenedFile> FileOpener::open_by_name(uint32_t owner, const std::string& path, const std::stop_token& stop) {
  if (const UniqueFd handle = open_on_known(path)) return open_here(handle.get(), path);
  const Device names(kNames, owner);
  return known(names) == Kind::kSilent ? no_answer() : open_by_child(owner, names, -1, path.c_str(), path, stop);
}

// The device is the handle's, not the one that was said: another file may stand there by now.
Result<OpenedFile> FileOpener::open_handle(uint32_t owner, int handle, const std::string& name, const std::stop_token& stop) {
  const auto device = device_of(handle);
  if (!device) return errno_error(errno, fmt::format("stat {}", name));
  const auto kind = known(*device);
  if (kind == Kind::kSilent) return no_answer();
  return kind == Kind::kLocal ? open_here(handle, name) : open_by_child(owner, *device, handle, nullptr, name, stop);
}

Result<OpenedFile> FileOpener::open_here(int handle, const std::string& name) {
  OpenedFile opened;
  if (!read_facts(handle, opened.facts_)) return errno_error(errno, fmt::format("stat {}", name));
  if (!S_ISREG(opened.facts_.mode)) return make_error(ErrorKind::kUnsupported, "{}: not a regular file", name);
  opened.fd_.reset(open_readable(handle));
  if (!opened.fd_) return errno_error(errno, fmt::format("open {}", name));
  return opened;
}

Result<OpenedFile> FileOpener::open_by_child(uint32_t owner, Device device, int handle, const char* path, const std::string& name,
                                             const std::stop_token& stop) {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno_error(errno, fmt::format("open {}", name));
  SharedMemory shared(static_cast<Shared*>(memory));
  auto child = children_.start(owner, {handle}, [&shared, handle, path](ChildEnd end) { serve(end, *shared, handle, path); });
  if (!child) return child.error().kind() == ErrorKind::kLimit ? no_answer() : child.error();
  auto answer = TRY(child->hear(stop));
  if (!answer) return stop.stop_requested() ? stopped() : note_silent(device);
  if (answer->error != 0) return errno_error(answer->error, fmt::format("open {}", name));
  OpenedFile opened;
  opened.facts_ = shared->facts;
  if (!is_distant(opened.facts_) && (!is_overlay(opened.facts_) || is_mounted_here(opened.facts_))) {
    note({opened.facts_.identity.major, opened.facts_.identity.minor}, Kind::kLocal);
    return open_here(answer->fd.get(), name);
  }
  if (!S_ISREG(opened.facts_.mode)) return make_error(ErrorKind::kUnsupported, "{}: not a regular file", name);
  opened.fd_ = std::move(answer->fd);
  opened.distant_.reset(new OpenedFile::Distant{*this, device, std::move(shared), std::move(*child)});
  return opened;
}

void FileOpener::note(Device device, Kind kind) {
  const std::lock_guard lock(mutex_);
  known_[device] = {kind, std::chrono::steady_clock::now()};
}

Error FileOpener::note_silent(Device device) {
  note(device, Kind::kSilent);
  return no_answer();
}

}  // namespace cicada::process
