// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/process_files.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/file_mapping.h"
#include "process/images/file_opener.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {

// What a child needs to know; no memory is asked for in it.
struct OpenRequest {
  enum class What : uint8_t { kFile, kDirectory };

  int root = -1;
  const char* path = nullptr;
  const UserRights& rights;
  int64_t began_s = 0;
  uint64_t from = 0;
  What what = What::kFile;
  int memory = -1;
};

namespace {

constexpr int64_t kClockSlackS = 2;              // ticks are coarse, and the real time may have been adjusted since boot
constexpr size_t kMaxStatusBytes = 1 << 20;      // 65,536 groups and everything else
enum Refusal : uint32_t { kNone, kNotRegular, kManyNames, kForeign, kOlder };
constexpr uint32_t kCopied = 1U << 31;
constexpr size_t kMaxNameBytes = 1 << 20;

// Ext2 to 4, XFS, Btrfs, F2FS, ZFS, bcachefs, in memory, read-only images. Not overlayfs: what is below it may be anything.
bool is_answered_by_kernel(uint64_t magic) {
  constexpr std::array<uint32_t, 10> kMagics{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, 0x2fc12fc1,
                                             0xca451a4e,       TMPFS_MAGIC,     RAMFS_MAGIC,       SQUASHFS_MAGIC,   EROFS_SUPER_MAGIC_V1};
  return std::find(kMagics.begin(), kMagics.end(), static_cast<uint32_t>(magic)) != kMagics.end();
}

// In the child, by system calls: those of the library would tell the other threads, which are not there. The real user stays ours, so the
// process's user can neither trace nor signal the child.
bool take_rights(const OpenRequest& request) {
  const UserRights& rights = request.rights;
  const bool ours = rights.uid == ::geteuid();
  if (::syscall(SYS_setgroups, rights.groups.size(), rights.groups.data()) != 0 && !ours) return false;
  ::syscall(SYS_setfsgid, rights.gid);
  ::syscall(SYS_setfsuid, rights.uid);
  if (static_cast<uint32_t>(::syscall(SYS_setfsgid, -1)) != rights.gid || static_cast<uint32_t>(::syscall(SYS_setfsuid, -1)) != rights.uid) return false;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  return ::syscall(SYS_capset, &head, none.data()) == 0 && ::prctl(PR_SET_DUMPABLE, 0) == 0;
}

Refusal find_refusal(const struct stat& st, const OpenRequest& request) {
  if (request.what == OpenRequest::What::kDirectory) return S_ISDIR(st.st_mode) ? kNone : kNotRegular;
  if (!S_ISREG(st.st_mode)) return kNotRegular;
  if (st.st_nlink > 1) return kManyNames;
  if (st.st_uid != request.rights.uid && st.st_uid != 0) return kForeign;
  return st.st_mtim.tv_sec + kClockSlackS < request.began_s ? kOlder : kNone;
}

bool copy(int from, int to, uint64_t begin, uint64_t size) {
  std::array<char, 64 << 10> buffer;
  if (begin > size) begin = 0;
  const uint64_t end = std::min(size, begin + ProcessFiles::kMaxCopyBytes);
  if (::ftruncate(to, static_cast<off_t>(end)) != 0) return false;
  while (begin < end) {
    const ssize_t got = ::pread(from, buffer.data(), std::min<uint64_t>(buffer.size(), end - begin), static_cast<off_t>(begin));
    if (got <= 0) return got == 0;
    if (::pwrite(to, buffer.data(), static_cast<size_t>(got), static_cast<off_t>(begin)) != got) return false;
    begin += static_cast<uint64_t>(got);
  }
  return true;
}

// Records of getdents64, as they come.
bool copy_names(int from, int to) {
  std::array<char, 32 << 10> buffer;
  for (size_t bytes = 0; bytes < kMaxNameBytes;) {
    const auto got = static_cast<ssize_t>(::syscall(SYS_getdents64, from, buffer.data(), buffer.size()));
    if (got <= 0) return got == 0;
    if (::write(to, buffer.data(), static_cast<size_t>(got)) != got) return false;
    bytes += static_cast<size_t>(got);
  }
  return true;
}

// O_PATH first: nothing happens to what is behind the name until it is known.
bool open_in_child(const OpenRequest& request, ChildAnswer& answer) {
  if (!take_rights(request)) return false;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const auto handle = static_cast<int>(::syscall(SYS_openat2, request.root, request.path, &how, sizeof how));
  struct stat st {};
  struct statfs fs {};
  if (handle < 0 || ::fstat(handle, &st) != 0 || ::fstatfs(handle, &fs) != 0) return false;
  answer.number = find_refusal(st, request);
  if (answer.number != kNone) return true;
  std::array<char, 32> name{"/proc/self/fd/"};
  std::to_chars(name.data() + 14, name.data() + name.size() - 1, handle);
  const int fd = ::open(name.data(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return false;
  if (request.what == OpenRequest::What::kDirectory) {
    answer.number = kCopied;
    return copy_names(fd, request.memory);
  }
  if (is_answered_by_kernel(static_cast<uint64_t>(fs.f_type)) && !is_disk_of_others(gnu_dev_major(st.st_dev), gnu_dev_minor(st.st_dev))) {
    answer.fd = fd;
    return true;
  }
  answer.number = kCopied;
  return copy(fd, request.memory, request.from, static_cast<uint64_t>(st.st_size));
}

// Real time at which the process with this /proc/PID/stat began.
Result<int64_t> find_beginning(const std::string& text, const std::string& path) {
  const auto stat = find_stat(text);
  if (!stat) return make_error(ErrorKind::kCorrupt, "{}: not a process status", path);
  struct timespec real {
  }, since_boot{};
  ::clock_gettime(CLOCK_REALTIME, &real);
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return real.tv_sec - since_boot.tv_sec + static_cast<int64_t>(stat->start_ticks / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)));
}

Error refused(Refusal refusal, const std::string& what) {
  switch (refusal) {
    case kNotRegular: return make_error(ErrorKind::kInvalid, "{}: not a regular file", what);
    case kManyNames: return make_error(ErrorKind::kInvalid, "{}: has other names, too; not used", what);
    case kOlder: return make_error(ErrorKind::kNotFound, "{}: older than the process", what);
    default: return make_error(ErrorKind::kPermission, "{}: belongs neither to the process's user nor to root; not used", what);
  }
}

Result<UniqueFd> open_our_root() {
  UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno_error(errno, "open /");
  return root;
}

}  // namespace

Result<ProcessFiles> ProcessFiles::open(Pid pid, const std::string& proc) {
  const std::string name = fmt::format("{}/{}", proc, pid);
  // All of the same process: its directory answers nothing when it has ended, even if its pid is given to another.
  const UniqueFd directory(::open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return make_error(ErrorKind::kGone, "{}: no such process", name);
  const std::string held = fmt::format("/proc/self/fd/{}", directory.get());
  ProcessFiles files;
  files.pid_ = files.pid_inside_ = pid;
  const std::string status = TRY(read_proc_file(held + "/status", kMaxStatusBytes));
  const std::string stat = TRY(read_proc_file(held + "/stat", 4096));
  TRY(files.read_rights(status));
  files.began_s_ = TRY(find_beginning(stat, name + "/stat"));
  files.mount_namespace_.reset(::openat(directory.get(), "ns/mnt", O_RDONLY | O_CLOEXEC));
  files.root_.reset(::openat(directory.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  files.working_directory_.reset(::openat(directory.get(), "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!files.root_) return errno_error(errno, fmt::format("open {}/root", name));
  return files;
}

Result<void> ProcessFiles::read_rights(const std::string& status) {
  const auto uids = find_status_numbers(status, "Uid"), gids = find_status_numbers(status, "Gid"), groups = find_status_numbers(status, "Groups");
  if (!uids || uids->size() != 4 || !gids || gids->size() != 4 || !groups)
    return make_error(ErrorKind::kGone, "process {}: no rights in its status", pid_);
  const auto one = [](const std::vector<uint32_t>& ids) { return std::count(ids.begin(), ids.end(), ids[0]) == 4; };
  if (!one(*uids) || !one(*gids)) return make_error(ErrorKind::kPermission, "process {}: runs with the rights of two users or groups", pid_);
  rights_ = {uids->front(), gids->front(), *groups};
  if (const auto pids = find_status_numbers(status, "NSpid"); pids && !pids->empty()) pid_inside_ = static_cast<Pid>(pids->back());
  return {};
}

Result<ProcessFiles::File> ProcessFiles::open_file(DisposableChildren& children, const std::string& path, uint64_t from, const std::stop_token& stop) const {
  const UniqueFd& base = path.starts_with('/') ? root_ : working_directory_;
  if (!base) return make_error(ErrorKind::kNotFound, "{}: the working directory of process {} could not be opened", path, pid_);
  return open_as(children, {base.get(), path.c_str(), rights_, began_s_, from}, fmt::format("{} (process {})", path, pid_), stop);
}

Result<ProcessFiles::File> ProcessFiles::open_as_user(DisposableChildren& children, const UserRights& user, const std::string& path) {
  const UniqueFd root = TRY(open_our_root());
  return open_as(children, {.root = root.get(), .path = path.c_str(), .rights = user}, path);
}

Result<std::vector<std::string>> ProcessFiles::list_as_user(DisposableChildren& children, const UserRights& user, const std::string& path) {
  const UniqueFd root = TRY(open_our_root());
  const File records = TRY(open_as(children, {.root = root.get(), .path = path.c_str(), .rights = user, .what = OpenRequest::What::kDirectory}, path));
  const FileMapping bytes = TRY(FileMapping::map(records.fd.get(), path));
  std::vector<std::string> names;
  // struct linux_dirent64: u64 inode, s64 offset, u16 length of the record, u8 type, the name.
  for (ByteCursor cursor(bytes.bytes()); !cursor.at_end() && names.size() < kMaxNames;) {
    cursor.skip(16);
    const uint16_t length = cursor.u16();
    ByteCursor rest(cursor.take(length < 18 ? 0 : length - 18U));
    rest.u8();
    const std::string_view name = rest.c_string();
    if (cursor.failed() || rest.failed() || length < 18) return make_error(ErrorKind::kCorrupt, "{}: not a directory's records", path);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

Result<ProcessFiles::File> ProcessFiles::open_as(DisposableChildren& children, OpenRequest request, const std::string& what, const std::stop_token& stop) {
  UniqueFd memory(::memfd_create("copy", MFD_CLOEXEC));
  if (!memory) return errno_error(errno, "memfd_create");
  request.memory = memory.get();
  auto answer = TRY(children.run(request.rights.uid, {request.root, request.memory}, [&request](ChildAnswer& said) {
    if (!open_in_child(request, said)) said.error = errno != 0 ? errno : EPERM;
  }, stop));
  if (!answer && stop.stop_requested()) return make_error(ErrorKind::kIo, "{}: not read before the end", what);
  if (!answer) return make_error(ErrorKind::kIo, "{}: its file system does not answer", what);
  if (answer->error != 0) return errno_error(answer->error, fmt::format("open {}", what));
  File file;
  file.is_copy = answer->number == kCopied;
  if (!file.is_copy && answer->number != kNone) return refused(static_cast<Refusal>(answer->number), what);
  file.fd = file.is_copy ? std::move(memory) : std::move(answer->fd);
  if (!file.fd) return make_error(ErrorKind::kIo, "open {}: no descriptor came", what);
  return file;
}

}  // namespace cicada::process
